package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// runs is where the directories of runs are, unless another place is requested.
const runs = "jepsen-runs"

// makeDirectory makes a run's directory, at a path that is nobody's yet. Without one it is
// the first free one of that name, and what killed runs left beside it is removed.
func makeDirectory(path, name string) (string, error) {
	if path != "" {
		path, err := filepath.Abs(path)
		if err != nil {
			return "", err
		}
		return path, os.Mkdir(path, 0o755)
	}
	parent, err := filepath.Abs(runs)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return "", err
	}
	if err := tidy(parent); err != nil {
		return "", err
	}
	for n := 0; ; n++ {
		path := filepath.Join(parent, name)
		if n > 0 {
			path += fmt.Sprintf(".%d", n)
		}
		err := os.Mkdir(path, 0o755)
		if !errors.Is(err, fs.ErrExist) {
			return path, err
		}
	}
}

// What is in a run's directory beside what package history names.
func scheduleFile(dir string) string { return filepath.Join(dir, "schedule.jsonl") }

func programs(dir string) string { return filepath.Join(dir, binaries) }

const (
	binaries = "bin"
	disks    = "disks" // see package lab
)

func lockFile(dir string) string { return filepath.Join(dir, "lock") }

// hold marks a run's directory as one whose run is in progress, until release is called or
// the process ends.
func hold(dir string) (release func(), err error) {
	f, err := os.OpenFile(lockFile(dir), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("another run uses %s: %w", dir, err), f.Close())
	}
	return func() {
		_ = os.Remove(f.Name()) // it is there until the end of the run, and so tells of one that was killed
		_ = f.Close()
	}, nil
}

// tidy removes the disks and programs of what was killed: runs, hunts for bugs and scenarios. All else that they made
// was gone with their processes, see package sandbox.
func tidy(parent string) error {
	locks, err := filepath.Glob(lockFile(filepath.Join(parent, "*")))
	if err != nil {
		return err
	}
	var errs []error
	for _, lock := range locks {
		dir := filepath.Dir(lock)
		release, err := hold(dir)
		if err != nil {
			continue // it is in progress
		}
		errs = append(errs, tidyRun(dir))
		release()
	}
	return errors.Join(errs...)
}

// tidyRun removes the disks, programs and copies of logs below a directory, which may be of many runs.
func tidyRun(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close() //nolint:errcheck // nothing is written
	return fs.WalkDir(root.FS(), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		if name := entry.Name(); name == disks || name == binaries || strings.HasPrefix(name, "harvest-") {
			if err := root.RemoveAll(path); err != nil {
				return err
			}
			return fs.SkipDir
		}
		return nil
	})
}
