//go:build linux

package disk

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

const (
	ballastFile = "ballast"
	// fillTries bounds how often what is free is looked up again: a member that
	// writes meanwhile changes it.
	fillTries = 100
)

// Fill takes all of the disk but about so many bytes, with a file beside the
// member's data directory, so that writes beyond them fail with ENOSPC. It can be
// called again, also with more to leave. The disk is full for everybody, root too,
// and stays so over a loss of power.
func (d *Disk) Fill(leave int64) error {
	if err := d.fill(max(leave, 0)); err != nil {
		return fmt.Errorf("fill %s: %w", d.under, err)
	}
	return nil
}

func (d *Disk) fill(leave int64) (err error) {
	d.toFree.Store(false)
	f, err := os.OpenFile(filepath.Join(d.under, ballastFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	fd := int(f.Fd())
	var size int64
	for range fillTries {
		info, err := f.Stat()
		if err != nil {
			return err
		}
		size = info.Size()
		var fs unix.Statfs_t
		if err := unix.Fstatfs(fd, &fs); err != nil {
			return err
		}
		more := (int64(fs.Bavail) - leave/fs.Bsize) * fs.Bsize //nolint:gosec // blocks of a disk of ours
		switch {
		case more == 0:
			return f.Sync()
		case more < 0:
			err = f.Truncate(max(size+more, 0))
			if size == 0 {
				return f.Sync() // there is less than that, without us
			}
		default:
			err = unix.Fallocate(fd, 0, size, more)
			// The file's own index takes blocks as well, so that the rest is
			// taken in smaller pieces.
			for more /= 2; errors.Is(err, unix.ENOSPC) && more >= fs.Bsize; more /= 2 {
				err = unix.Fallocate(fd, 0, size, more/fs.Bsize*fs.Bsize)
			}
			if errors.Is(err, unix.ENOSPC) {
				return f.Sync() // not one block more
			}
		}
		if err != nil {
			return err
		}
	}
	return f.Sync()
}

// Free returns what Fill took; that of a disk without power at the next [Disk.PowerOn]. Without a Fill before it does nothing.
func (d *Disk) Free() error {
	err := d.free()
	if errors.Is(err, unix.EIO) {
		d.toFree.Store(true)
		return nil
	}
	return err
}

func (d *Disk) free() error {
	err := os.Remove(filepath.Join(d.under, ballastFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = syncPath(d.under)
	}
	if err != nil {
		return fmt.Errorf("free %s: %w", d.under, err)
	}
	return nil
}
