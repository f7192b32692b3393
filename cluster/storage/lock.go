package storage

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// lockFile is the file in a data directory that carries the lock.
const lockFile = "lock"

// dirLock is the lock of a data directory. One process at a time holds it.
type dirLock struct{ file *os.File }

// lockDir takes the lock of a data directory. It fails if another process, or another part of this process, holds the lock.
func lockDir(dir string) (*dirLock, error) {
	file, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, &unusableError{dir, err}
	}
	if err := flock(file); err != nil {
		return nil, errors.Join(fmt.Errorf("data directory %s is in use by another process (%w)", dir, err), file.Close())
	}
	return &dirLock{file}, nil
}

// Close releases the lock. Closing the file alone would not release it while a child of this process has the file too, which is
// between the child's fork and exec.
func (l *dirLock) Close() error {
	return errors.Join(funlock(l.file), l.file.Close())
}
