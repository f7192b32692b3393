package storage

import (
	"io/fs"
	"os"

	"golang.org/x/sys/windows"
)

// flock takes an exclusive lock of a file. It fails if another open file has the lock.
func flock(f *os.File) error {
	return windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, new(windows.Overlapped))
}

// funlock releases the lock of a file.
func funlock(f *os.File) error {
	return windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, new(windows.Overlapped))
}

// space returns the free space and the size of the file system of a directory, in bytes.
func space(dir string) (free, total uint64, err error) {
	path, err := windows.UTF16PtrFromString(dir)
	if err == nil {
		err = windows.GetDiskFreeSpaceEx(path, &free, &total, nil)
	}
	return free, total, err
}

// ownerOf returns the owner of a file; Windows has no numbers of users.
func ownerOf(fs.FileInfo) (user, group int, ok bool) { return 0, 0, false }
