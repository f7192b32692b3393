//go:build unix

package storage

import (
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// flock takes an exclusive lock of a file. It fails if another open file has the lock.
func flock(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) }

// funlock releases the lock of a file.
func funlock(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_UN) }

// space returns the free space and the size of the file system of a directory, in bytes.
func space(dir string) (free, total uint64, err error) {
	var stat unix.Statfs_t
	if err := unix.Statfs(dir, &stat); err != nil {
		return 0, 0, &fs.PathError{Op: "statfs", Path: dir, Err: err}
	}
	block := uint64(stat.Bsize)           //nolint:gosec // positive; its type differs between systems
	blocks := uint64(max(stat.Bavail, 0)) //nolint:unconvert // FreeBSD: signed, and negative if only root may still write
	return blocks * block, stat.Blocks * block, nil
}

// ownerOf returns the owner of a file.
func ownerOf(info fs.FileInfo) (user, group int, ok bool) {
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0, false
	}
	return int(owner.Uid), int(owner.Gid), true
}
