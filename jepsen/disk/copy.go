package disk

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// CopyDir copies a directory tree and syncs the copy. It removes the destination
// first. A symbolic link or a special file in the tree is an error.
func CopyDir(from, to string) error {
	if _, err := os.ReadDir(from); err != nil {
		return fmt.Errorf("copy a directory: %w", err)
	}
	if err := Wipe(to); err != nil {
		return err
	}
	err := filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		switch {
		case entry.IsDir():
			return os.MkdirAll(target, info.Mode().Perm()|0o700)
		case info.Mode().IsRegular():
			return copyFile(path, target, info.Mode().Perm())
		}
		return fmt.Errorf("%s is neither a file nor a directory", path)
	})
	if err != nil {
		return fmt.Errorf("copy %s to %s: %w", from, to, err)
	}
	return syncTree(to)
}

func copyFile(from, to string, mode fs.FileMode) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Sync(), out.Close())
}

// Wipe removes a directory tree and syncs its parent. A missing directory is not an error.
func Wipe(dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("wipe %s: %w", dir, err)
	}
	if err := syncPath(filepath.Dir(dir)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("wipe %s: %w", dir, err)
	}
	return nil
}

// syncTree syncs the directories of a tree and the parent of the tree.
func syncTree(dir string) error {
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		return syncPath(path)
	})
	return errors.Join(err, syncPath(filepath.Dir(dir)))
}

// syncPath syncs a file or a directory.
func syncPath(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
