//go:build root && linux

package disk

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func newInterposed(t *testing.T) *Disk {
	t.Helper()
	d := newDisk(t)
	before := d.Path()
	if err := d.Interpose(t.Context()); err != nil {
		t.Fatal(err)
	}
	if d.Path() == before {
		t.Fatal("Path() is the same after Interpose, want a path through FUSE")
	}
	return d
}

// done runs a command of do in another process, through FUSE, and compares the result.
func done(t *testing.T, what, want string) {
	t.Helper()
	a := start(t, "do", what)
	if got := a.line(); got != want && (want == "" || !strings.HasSuffix(got, want)) {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
	a.kill()
}

const ioError = "input/output error"

func TestDatabaseThroughFUSE(t *testing.T) {
	d := newInterposed(t)
	name := "db"
	a := start(t, "commit", filepath.Join(d.Path(), name))
	var last uint64
	for range 300 {
		last = number(t, a)
	}
	if got := openFUSE(t, a); got != "" {
		t.Errorf("the process has %s open", got)
	}
	second := start(t, "open", filepath.Join(d.Path(), name))
	if err := second.cmd.Wait(); err == nil {
		t.Error("two processes opened the same database")
	}
	a.kill()
	if err := start(t, "open", filepath.Join(d.Path(), name)).cmd.Wait(); err != nil {
		t.Errorf("open after a kill: %v", err)
	}
	if got := committed(t, filepath.Join(d.Under(), name)); got < last {
		t.Errorf("database has the commits up to %d; the commits up to %d had returned", got, last)
	}
	if writes, syncs, failed := d.Stats(); writes < 600 || syncs < 300 || failed != 0 {
		t.Errorf("Stats() = %d, %d, %d, want at least 600 writes, at least 300 syncs, 0 failed", writes, syncs, failed)
	}
}

// openFUSE returns the path of the FUSE device if a process has the device open, else "".
func openFUSE(t *testing.T, a *actor) string {
	t.Helper()
	links, err := filepath.Glob(filepath.Join("/proc", pid(a), "fd", "*"))
	if err != nil || len(links) == 0 {
		t.Fatal(links, err)
	}
	for _, link := range links {
		if to, err := os.Readlink(link); err == nil && to == fuseDevice {
			return to
		}
	}
	return ""
}

func TestPowerLossThroughFUSE(t *testing.T) {
	for _, lies := range []bool{false, true} {
		d := newInterposed(t)
		d.Inject(Faults{SyncLies: lies})
		a := start(t, "commit", filepath.Join(d.Path(), "db"))
		var last uint64
		for range 100 {
			last = number(t, a)
		}
		if err := d.PowerOff(); err != nil {
			t.Fatal(err)
		}
		for a.lines.Scan() {
			last++
		}
		a.kill()
		restorePower(t, d)
		if !lies {
			if got := committed(t, filepath.Join(d.Under(), "db")); got < last || got > last+1 {
				t.Errorf("database has the commits up to %d; the commits up to %d had returned", got, last)
			}
		} else if _, err := os.Stat(filepath.Join(d.Under(), "db")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the database exists although the syncs lied: %v", err)
		}
		d.Inject(Faults{})
		done(t, "write "+d.Path()+"/file 0 100 x", "ok")
		done(t, "read "+d.Path()+"/file", "100 xxx")
	}
}

func TestPowerOnWaitsForProcesses(t *testing.T) {
	d := newInterposed(t)
	a := start(t, "hold", filepath.Join(d.Path(), "db"))
	if got := a.line(); got != "open" {
		t.Fatalf("process printed %q, want %q", got, "open")
	}
	if err := d.PowerOff(); err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := d.PowerOn(short); !errors.Is(err, unix.EBUSY) {
		t.Errorf("PowerOn while a process runs: %v, want EBUSY", err)
	}
	a.kill()
	restorePower(t, d)
}

// A file that changed below FUSE while no process had it open is read with its new content.
func TestChangesBelowAreSeen(t *testing.T) {
	d := newInterposed(t)
	done(t, "write "+d.Path()+"/file 0 5000 x", "ok")
	done(t, "read "+d.Path()+"/file", "5000 xxx")
	write(t, filepath.Join(d.Under(), "file"), []byte("yyyy"), false)
	done(t, "read "+d.Path()+"/file", "4 yyy")
}

func TestFailedWrites(t *testing.T) {
	d := newInterposed(t)
	file := d.Path() + "/file"
	write, sync, cut := "write "+file+" 0 100 x", "sync "+file, "cut "+file+" 10"
	d.Inject(Faults{FailWrite: 2})
	done(t, write, "ok")
	done(t, sync, "ok")
	for range 2 {
		done(t, write, ioError)
		done(t, sync, ioError)
		done(t, cut, ioError)
	}
	done(t, "sync "+d.Path(), ioError)
	d.Inject(Faults{})
	done(t, write, "ok")
	done(t, sync, "ok")
	done(t, cut, "ok")
	if writes, syncs, failed := d.Stats(); writes != 4 || syncs != 5 || failed != 5 {
		t.Errorf("Stats() = %d, %d, %d, want 4 writes, 5 syncs, 5 failed", writes, syncs, failed)
	}

	d.Inject(Faults{FailWrite: 50})
	a := start(t, "commit", filepath.Join(d.Path(), "db"))
	var last uint64
	for line := a.line(); line != ""; line = a.line() {
		last++
	}
	if err := a.cmd.Wait(); err == nil || last < 10 || last > 50 {
		t.Errorf("process stopped after %d commits: %v; want an error after 10 to 50 commits", last, err)
	}
	if got := committed(t, filepath.Join(d.Under(), "db")); got != last {
		t.Errorf("database has the commits up to %d; the commits up to %d had returned", got, last)
	}
}

func TestTornWrite(t *testing.T) {
	const size, offset = 20000, 300
	d := newInterposed(t)
	file := d.Path() + "/file"
	under := filepath.Join(d.Under(), "file")
	seen := map[int]bool{}
	for range 8 {
		write(t, under, bytes.Repeat([]byte("o"), offset+size), true)
		ready := make(chan func(), 1)
		d.Inject(Faults{TornWrite: 1, OnTorn: func() { (<-ready)() }})
		a := start(t, "do", "write "+file+" 300 20000 n", "write "+file+" 0 1 z")
		ready <- func() { _ = a.cmd.Process.Kill() }
		if said := a.line(); said != "" {
			t.Errorf("killed process printed %q, want nothing", said)
		}
		a.kill()
		if err := d.PowerOff(); err != nil {
			t.Fatal(err)
		}
		restorePower(t, d)
		got, err := os.ReadFile(under)
		if err != nil {
			t.Fatal(err)
		}
		torn := bytes.LastIndexByte(got, 'n') + 1
		if len(got) != offset+size || torn%sector != 0 || torn <= offset || torn >= offset+size ||
			bytes.Count(got, []byte("n")) != torn-offset {
			t.Errorf("write torn at byte %d of %d, want a sector boundary inside the write", torn, len(got))
		}
		seen[torn] = true
	}
	if len(seen) < 3 {
		t.Errorf("8 writes were torn at %v, want at least 3 places", seen)
	}
	done(t, "sync "+file, ioError)
	d.Inject(Faults{})
	done(t, "sync "+file, "ok")
}

func TestSyncDelay(t *testing.T) {
	d := newInterposed(t)
	file := d.Path() + "/file"
	const delay = 300 * time.Millisecond
	d.Inject(Faults{SyncDelay: delay})
	began := time.Now()
	done(t, "sync "+file, "ok")
	if took := time.Since(began); took < delay {
		t.Errorf("sync took %s, want at least %s", took, delay)
	}
	d.Inject(Faults{SyncDelay: time.Hour})
	a := delayed(t, d, file)
	d.Inject(Faults{})
	if got := a.line(); got != "ok" {
		t.Errorf("delayed sync after healing: %q, want %q", got, "ok")
	}
}

// delayed starts a process that syncs a file, and returns when the sync is delayed.
func delayed(t *testing.T, d *Disk, file string) *actor {
	t.Helper()
	_, before, _ := d.Stats()
	a := start(t, "do", "sync "+file)
	within(t, 10*time.Second, func() bool { _, syncs, _ := d.Stats(); return syncs > before })
	return a
}

// within waits until so returns true, at most for limit.
func within(t *testing.T, limit time.Duration, so func() bool) {
	t.Helper()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	deadline := time.After(limit)
	for !so() {
		select {
		case <-ticker.C:
		case <-deadline:
			t.Fatalf("condition not met within %s", limit)
		}
	}
}

// Close waits neither for a sync that is delayed for an hour nor for an OnTorn that does not return.
func TestCloseDoesNotHang(t *testing.T) {
	d := newInterposed(t)
	d.Inject(Faults{SyncDelay: time.Hour})
	a := delayed(t, d, d.Path()+"/file")
	began := time.Now()
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > endPatience {
		t.Errorf("Close during a delayed sync took %s, want at most %s", took, endPatience)
	}
	_ = a.cmd.Wait()

	d, err := New(t.Context(), t.TempDir(), "n1", minSize)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Interpose(t.Context()); err != nil {
		t.Fatal(err)
	}
	hangs, goOn := make(chan struct{}), make(chan struct{})
	d.Inject(Faults{TornWrite: 1, OnTorn: func() { close(hangs); <-goOn }})
	a = start(t, "do", "write "+d.Path()+"/file 0 100 x")
	within(t, 10*time.Second, func() bool {
		select {
		case <-hangs:
			return true
		default:
			return false
		}
	})
	began = time.Now()
	if err := d.Close(); err == nil {
		t.Error("Close() while OnTorn hangs = nil, want an error")
	}
	if took := time.Since(began); took > 2*endPatience {
		t.Errorf("Close while OnTorn hangs took %s, want at most %s", took, 2*endPatience)
	}
	close(goOn)
	_ = a.cmd.Wait()
}

// A process with a mount namespace of its own, such as a wrapped command, has copies of the mounts.
func TestPowerOnWithCopiedMounts(t *testing.T) {
	d := newInterposed(t)
	start(t, "copy").line()
	if err := d.PowerOff(); err != nil {
		t.Fatal(err)
	}
	if err := d.PowerOn(t.Context()); err != nil {
		t.Fatal(err)
	}
	done(t, "write "+filepath.Join(d.Path(), "f")+" 0 1 a", "ok")
}
