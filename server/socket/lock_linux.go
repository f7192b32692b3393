package socket

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// lock is a locked file that exists while the lock is held. One process at a time holds it.
type lock struct{ file *os.File }

// takeLock creates a file and locks it. It fails if another process holds the lock.
func takeLock(path string) (*lock, error) {
	for {
		file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
		if err != nil {
			return nil, err
		}
		switch err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); {
		case errors.Is(err, unix.EWOULDBLOCK):
			_ = file.Close()
			return nil, fmt.Errorf("another process holds the lock %s; stop that process, or choose another path", path)
		case err != nil:
			return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), file.Close())
		}
		// The holder before may have removed the file after it was opened here. Then the path has another file, or none.
		locked, err := file.Stat()
		if err != nil {
			return nil, errors.Join(err, file.Close())
		}
		if now, err := os.Lstat(path); err == nil && os.SameFile(now, locked) {
			return &lock{file}, nil
		}
		_ = file.Close()
	}
}

// release removes the file and releases the lock.
func (l *lock) release() error {
	return errors.Join(os.Remove(l.file.Name()), unix.Flock(int(l.file.Fd()), unix.LOCK_UN), l.file.Close())
}
