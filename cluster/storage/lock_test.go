package storage

import (
	"testing"

	"golang.org/x/sys/unix"
)

// A child process has a copy of the file between its fork and its exec.
func TestLockIsReleasedDespiteChildProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	lock, err := lockDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	child, err := unix.FcntlInt(lock.file.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(child)
	if _, err := lockDir(dir); err == nil {
		t.Error("locked twice")
	}
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := lockDir(dir)
	if err != nil {
		t.Fatalf("lockDir after Close = %v, want the lock", err)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}
