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

// runs is the parent directory of runs without an explicit path.
const runs = "jepsen-runs"

// makeDirectory creates the directory of a run, and returns its absolute path. A given path must not exist. Without a
// path, the directory is the first free one of name, name.1, ... in runs, and tidy removes the remains of killed runs.
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

// Paths in a run's directory. Package history names the others.
func scheduleFile(dir string) string { return filepath.Join(dir, "schedule.jsonl") }

func programs(dir string) string { return filepath.Join(dir, binaries) }

const (
	binaries = "bin"
	disks    = "disks" // see package lab
)

func lockFile(dir string) string { return filepath.Join(dir, "lock") }

// hold locks a run's directory until release is called or the process exits. A locked directory is that of a run in
// progress.
func hold(dir string) (release func(), err error) {
	f, err := os.OpenFile(lockFile(dir), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("directory %s: used by another run: %w", dir, err), f.Close())
	}
	return func() {
		_ = os.Remove(f.Name()) // a remaining lock file marks a killed run
		_ = f.Close()
	}, nil
}

// tidy removes the disks, the programs and the copies of logs that killed runs, hunts for bugs and scenarios left. The
// kernel removed all their other resources with their processes; see package sandbox.
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
			continue // run in progress
		}
		errs = append(errs, tidyRun(dir))
		release()
	}
	return errors.Join(errs...)
}

// tidyRun removes the disks, programs and copies of logs below a directory, which may hold several runs.
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
