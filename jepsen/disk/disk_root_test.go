//go:build root && linux

package disk

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func newDisk(t *testing.T) *Disk {
	t.Helper()
	d, err := New(t.Context(), t.TempDir(), "n1", 64<<20)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// write writes a file and, if sync is set, syncs the file and its directory.
func write(t *testing.T, path string, content []byte, sync bool) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	if sync {
		if err := errors.Join(syncPath(path), syncPath(filepath.Dir(path))); err != nil {
			t.Fatal(err)
		}
	}
}

func restorePower(t *testing.T, d *Disk) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := d.PowerOn(ctx); err != nil {
		t.Fatal(err)
	}
}

func TestCheck(t *testing.T) {
	if err := Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", "/nowhere")
	if err := Check(t.Context()); err == nil || !bytes.Contains([]byte(err.Error()), []byte("mkfs.ext4")) {
		t.Errorf("Check() without mkfs.ext4 = %v, want an error that names mkfs.ext4", err)
	}
}

func TestPowerLossKeepsSyncedData(t *testing.T) {
	d := newDisk(t)
	synced, overwritten, fresh := filepath.Join(d.Path(), "synced"), filepath.Join(d.Path(), "overwritten"), filepath.Join(d.Path(), "fresh")
	old, changed := bytes.Repeat([]byte("old "), 5000), bytes.Repeat([]byte("new "), 5000)
	write(t, overwritten, old, true)
	write(t, synced, old, true)
	f, err := os.OpenFile(overwritten, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(changed); err != nil {
		t.Fatal(err)
	}
	write(t, fresh, changed, false)
	if err := d.PowerOff(); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(changed); !errors.Is(err, unix.EIO) {
		t.Errorf("write after the power loss: %v, want EIO", err)
	}
	if err := f.Sync(); !errors.Is(err, unix.EIO) {
		t.Errorf("sync after the power loss: %v, want EIO", err)
	}
	if err := d.PowerOff(); err != nil {
		t.Errorf("second PowerOff: %v", err)
	}

	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := d.PowerOn(short); !errors.Is(err, unix.EBUSY) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("PowerOn while a file is open: %v, want EBUSY and DeadlineExceeded", err)
	}
	f.Close()
	restorePower(t, d)
	for _, path := range []string{synced, overwritten} {
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, old) {
			t.Errorf("%s after the power loss: %.20q, %v, want the synced content", path, got, err)
		}
	}
	if _, err := os.Stat(fresh); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the unsynced file exists after the power loss: %v", err)
	}
	write(t, fresh, changed, true)
}

func TestPowerLossKeepsCommits(t *testing.T) {
	d := newDisk(t)
	path := filepath.Join(d.Path(), "db")
	last := uint64(0)
	for range 3 {
		a := start(t, "commit", path)
		for range 100 {
			last = number(t, a)
		}
		if err := d.PowerOff(); err != nil {
			t.Fatal(err)
		}
		for a.lines.Scan() { // until a commit fails
			last++
		}
		a.kill()
		restorePower(t, d)
		if got := committed(t, path); got < last || got > last+1 {
			t.Fatalf("database has the commits up to %d; the commits up to %d had returned", got, last)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

// number returns the next number that a process prints.
func number(t *testing.T, a *actor) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(a.line(), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestFillLeavesSpace(t *testing.T) {
	d := newDisk(t)
	path := filepath.Join(d.Path(), "file")
	for _, leave := range []int64{0, 1 << 20, 64 << 10, 4 << 20, 0} {
		if err := d.Fill(leave); err != nil {
			t.Fatal(err)
		}
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		var n int64
		for err == nil {
			_, err = f.Write(make([]byte, 4096))
			n += 4096
		}
		if n -= 4096; !errors.Is(err, unix.ENOSPC) || n != leave {
			t.Errorf("after Fill(%d): %d bytes written, then %v; want ENOSPC after %d bytes", leave, n, err, leave)
		}
		f.Close()
		os.Remove(path)
	}
	if err := d.PowerOff(); err != nil {
		t.Fatal(err)
	}
	restorePower(t, d)
	if err := os.WriteFile(path, make([]byte, 1<<20), 0o600); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("write to a full disk after a power loss: %v, want ENOSPC", err)
	}
	for range 2 {
		if err := d.Free(); err != nil {
			t.Fatal(err)
		}
	}
	write(t, path, make([]byte, 8<<20), true)
}

// A disk that was freed while its power was off is free after PowerOn.
func TestFreeWithoutPower(t *testing.T) {
	d := newDisk(t)
	if err := errors.Join(d.Fill(0), d.PowerOff(), d.Free()); err != nil {
		t.Fatal(err)
	}
	restorePower(t, d)
	write(t, filepath.Join(d.Path(), "file"), make([]byte, 8<<20), true)
}

func TestCloseFreesTheDevice(t *testing.T) {
	dir := t.TempDir()
	d, err := New(t.Context(), dir, "n1", minSize)
	if err != nil {
		t.Fatal(err)
	}
	a := start(t, "hold", filepath.Join(d.Path(), "db"))
	if got := a.line(); got != "open" {
		t.Fatalf("process printed %q, want %q", got, "open")
	}
	for range 2 {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
	a.kill()
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("files after Close: %v, %v; want none", left, err)
	}
	backing, err := filepath.Glob("/sys/block/loop*/loop/backing_file")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range backing {
		if file, err := os.ReadFile(path); err == nil && bytes.HasPrefix(file, []byte(dir)) {
			t.Errorf("loop device still in use after Close: %s has %s", path, file)
		}
	}
	if err := d.PowerOn(t.Context()); err == nil {
		t.Error("PowerOn() of a closed disk = nil, want an error")
	}
}

func TestNewRejectsSmallDisk(t *testing.T) {
	if _, err := New(t.Context(), t.TempDir(), "n1", minSize-1); err == nil {
		t.Error("New() below the smallest size = nil error, want an error")
	}
	d, err := New(t.Context(), t.TempDir(), "n1", minSize)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}
