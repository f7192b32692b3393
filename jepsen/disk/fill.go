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
	fillTries   = 100 // bounds the adjustments to writes of a running member
)

// Fill fills the disk except for about leave bytes: further writes fail with
// ENOSPC, those of root too. The space is taken by a file next to the member's data
// directory, which survives a power loss. Fill can be called again, with more or
// fewer bytes to leave.
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
				return f.Sync() // less than leave is free without the ballast
			}
		default:
			err = unix.Fallocate(fd, 0, size, more)
			// The file's own index takes blocks too, so smaller pieces
			// take the rest.
			for more /= 2; errors.Is(err, unix.ENOSPC) && more >= fs.Bsize; more /= 2 {
				err = unix.Fallocate(fd, 0, size, more/fs.Bsize*fs.Bsize)
			}
			if errors.Is(err, unix.ENOSPC) {
				return f.Sync() // no block is free
			}
		}
		if err != nil {
			return err
		}
	}
	return f.Sync()
}

// Free returns the space that Fill took. If the power is off, the next [Disk.PowerOn] returns it. Without a previous Fill, Free
// does nothing.
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
