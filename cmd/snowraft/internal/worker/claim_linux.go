package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/internal/contain"
)

// claim claims a worker of a directory and becomes a command.
func claim(ctx context.Context, a *cli.App, dir string, p places, args []string) error {
	path, err := exec.LookPath(args[0])
	if err != nil {
		return cli.Exit(contain.StartCode(err), err)
	}
	if _, err := os.ReadDir(dir); err != nil {
		return fmt.Errorf("--dir %q: %w", dir, cli.Innermost(err))
	}
	again := time.NewTicker(look)
	defer again.Stop()
	waiting := time.AfterFunc(time.Second, func() { a.Warn("no worker in %s is free; waiting", dir) })
	defer waiting.Stop()
	for {
		f, err := takeAny(dir)
		if err != nil {
			return err
		}
		if f != nil {
			defer func() { _ = f.Close() }() // only after a failure
			n, pause, err := read(f)
			if err != nil {
				return fmt.Errorf("%s: %w", f.Name(), err)
			}
			if err := wait(ctx, time.After(pause)); err != nil {
				return err
			}
			err = unix.Exec(path, p.arguments(args, n), p.environment(n))
			return cli.Exit(contain.StartCode(err), fmt.Errorf("%s: %w", path, err))
		}
		if err := wait(ctx, again.C); err != nil {
			return err
		}
	}
}

func wait(ctx context.Context, c <-chan time.Time) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-c:
		return nil
	}
}

// claimable matches the names of the files in --dir.
const claimable = "[0-9]*"

// takeAny locks one of the files of a directory. It returns nil if all are locked.
func takeAny(dir string) (*os.File, error) {
	files, err := filepath.Glob(filepath.Join(dir, claimable))
	if err != nil {
		return nil, err
	}
	for _, name := range files {
		if f, err := lockFile(name); f != nil || err != nil {
			return f, err
		}
	}
	return nil, nil
}

// lockFile locks a file. It returns nil if another process has locked it, or the file is gone. The lock belongs to the open file, which
// the command inherits.
func lockFile(name string) (*os.File, error) {
	fd, err := unix.Open(name, unix.O_RDONLY, 0) // without O_CLOEXEC
	switch {
	case errors.Is(err, unix.ENOENT):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	f := os.NewFile(uintptr(fd), name)
	err = unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		var locked, named unix.Stat_t
		if unix.Fstat(fd, &locked) == nil && unix.Stat(name, &named) == nil && locked.Ino == named.Ino && locked.Dev == named.Dev {
			return f, nil
		}
		err = unix.EWOULDBLOCK // worker run has replaced the file
	}
	_ = f.Close()
	if errors.Is(err, unix.EWOULDBLOCK) {
		return nil, nil
	}
	return nil, fmt.Errorf("lock %s: %w", name, err)
}

// read reads a file that worker run wrote.
func read(f *os.File) (n numbers, pause time.Duration, err error) {
	text, err := io.ReadAll(f)
	if err != nil {
		return n, 0, err
	}
	values := map[string]string{}
	for line := range strings.Lines(string(text)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		values[key] = value
	}
	var millis uint64
	for key, to := range map[string]*uint64{"PAUSE_MS": &millis, "WORKER": &n.worker, "DATACENTER": &n.datacenter, "SPLIT": &n.split} {
		if *to, err = strconv.ParseUint(values[key], 10, 63); err != nil {
			return n, 0, errors.New("not a file of worker run --dir")
		}
	}
	n.layout = values["LAYOUT"]
	return n, time.Duration(millis) * time.Millisecond, nil
}
