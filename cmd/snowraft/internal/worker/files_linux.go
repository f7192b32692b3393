package worker

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/snowraft/snowraft/client"
	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
)

// errInUse is the error of a file or a directory whose numbers belong to the command of another wrapper.
var errInUse = errors.New("another worker run uses it; give each its own")

// files are the files of --file or --dir. No other wrapper replaces them: a process of the command could read a worker of
// another command there. Its lock is that of the directory of --dir, or that of the file itself.
type files struct {
	lock  *os.File
	paths []string
}

// write writes the files with the numbers of the leases.
func (s settings) write(l leases) (*files, error) {
	f := &files{}
	var err error
	switch {
	case s.dir != "":
		err = f.writeAll(s, l)
	case s.file != "":
		err = f.writeOne(s.file, s.lines(l[0]))
	}
	if err != nil {
		f.remove()
		return nil, err
	}
	return f, nil
}

// writeAll writes a file for each worker into --dir, and removes files that a wrapper left that was killed.
func (f *files) writeAll(s settings, l leases) (err error) {
	if f.lock, err = locked(s.dir); err != nil {
		return fmt.Errorf("--dir %q: %w", s.dir, cli.Innermost(err))
	}
	old, err := filepath.Glob(filepath.Join(s.dir, claimable))
	if err != nil {
		return err
	}
	for _, path := range old {
		if err := removeOld(path); err != nil {
			return fmt.Errorf("remove %s: %w", path, cli.Innermost(err))
		}
	}
	for i, h := range l {
		lines := s.lines(h) + fmt.Sprintf("PAUSE_MS=%d\n", s.pause(tick(h.Layout())).Milliseconds()+1)
		path := filepath.Join(s.dir, strconv.Itoa(i))
		written, err := create(path, lines)
		if err != nil {
			return err
		}
		_ = written.Close() // the processes of the command lock it
		f.paths = append(f.paths, path)
	}
	return nil
}

// removeOld removes a file that another wrapper wrote, and no other.
func removeOld(path string) error {
	f, err := open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	if _, _, err := read(f); err != nil {
		return nil
	}
	return os.Remove(path)
}

// writeOne writes the file of --file.
func (f *files) writeOne(path, lines string) error {
	others, err := lockedSoon(filepath.Dir(path)) // until the file is locked
	if errors.Is(err, errInUse) {
		return fmt.Errorf("--file %q: its directory is the --dir of another worker run; choose another directory", path)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, cli.Innermost(err))
	}
	defer func() { _ = others.Close() }()
	old, err := locked(path)
	switch {
	case err == nil:
		_ = old.Close()
	case !errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("--file %q: %w", path, cli.Innermost(err))
	}
	if f.lock, err = create(path, lines); err != nil {
		return err
	}
	f.paths = []string{path}
	return unix.Flock(int(f.lock.Fd()), unix.LOCK_EX)
}

// remove removes the files, whose numbers no longer belong to a process.
func (f *files) remove() {
	for _, path := range f.paths {
		_ = os.Remove(path)
	}
	if f.lock != nil {
		_ = f.lock.Close()
	}
}

// lines returns the lines with the numbers of a lease.
func (s settings) lines(h *client.HeldWorker) string {
	n := numbersOf(h)
	return fmt.Sprintf("WORKER=%d\nDATACENTER=%d\nLAYOUT=%s\nSPLIT=%d\n", n.worker, n.datacenter, n.layout, n.split)
}

// open opens a file to read it. It does not wait for the writer of a pipe.
func open(path string) (*os.File, error) { return os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0) }

// locked opens and locks a file. It returns errInUse if another process has the lock.
func locked(path string) (*os.File, error) {
	f, err := open(path)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			err = errInUse
		}
		return nil, err
	}
	return f, nil
}

// lockedSoon opens and locks a directory that other wrappers lock for moments only, unless it is their --dir.
func lockedSoon(dir string) (f *os.File, err error) {
	for range 20 {
		if f, err = locked(dir); !errors.Is(err, errInUse) {
			return f, err
		}
		<-time.After(look)
	}
	return nil, err
}

// create writes a file, so that a reader sees a whole file or none, and returns it open.
func create(path, text string) (*os.File, error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", path, cli.Innermost(err))
	}
	if _, err = f.WriteString(text); err == nil {
		err = f.Chmod(0o644)
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_, _ = os.Remove(f.Name()), f.Close()
		return nil, fmt.Errorf("write %s: %w", path, cli.Innermost(err))
	}
	return f, nil
}
