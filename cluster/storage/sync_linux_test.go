package storage

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/uuid"
	"golang.org/x/sys/unix"
)

// dirty returns the number of pages of a file that the kernel has not written to the disk; ok is false if the kernel does not
// report it.
func dirty(t *testing.T, path string) (pages uint64, ok bool) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var s unix.Cachestat_t
	if err := unix.Cachestat(uint(f.Fd()), &unix.CachestatRange{}, &s, 0); err != nil {
		return 0, false // before Linux 6.5
	}
	return s.Dirty + s.Writeback, true
}

// unwritten returns the number of pages of a store that are not on the disk after it has stored an entry, a term and a vote. It
// skips the test on systems that do not report that.
func unwritten(t *testing.T) (pages uint64) {
	t.Helper()
	plain := filepath.Join(t.TempDir(), "plain")
	for _, sync := range []bool{false, true} {
		f, err := os.Create(plain)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString("x"); err != nil {
			t.Fatal(err)
		}
		if sync {
			if err := f.Sync(); err != nil {
				t.Fatal(err)
			}
		}
		_ = f.Close()
		if pages, ok := dirty(t, plain); !ok || (pages > 0) == sync {
			t.Skip("this system does not report the pages of a file that are on the disk")
		}
	}

	dir := t.TempDir()
	var reported []error
	s, id, err := openTestStore(t, dir, &reported)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close(); _ = id.Close() }()
	for _, write := range []func() error{
		func() error { return s.Logs.StoreLog(entry(1, 1, "a")) },
		func() error { return s.Stable.SetUint64([]byte("CurrentTerm"), 7) },
		func() error { return s.Stable.Set([]byte("LastVoteCand"), []byte("a")) },
	} {
		if err := write(); err != nil {
			t.Fatal(err)
		}
		n, _ := dirty(t, filepath.Join(dir, logFile))
		pages += n
	}
	return pages
}

// Stored data is on the disk when the write returns: Raft's answers depend on it.
func TestStoresWaitForTheDisk(t *testing.T) {
	if pages := unwritten(t); pages > 0 {
		t.Errorf("%d pages were not written", pages)
	}
}

// An entry costs one transaction of bbolt, which waits for the disk twice: for the pages, and for the page that names them. The
// watermark waits for nothing.
func TestSyncsPerEntry(t *testing.T) {
	dir := t.TempDir()
	var reported []error
	s, id, err := openTestStore(t, dir, &reported)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close(); _ = id.Close() }()
	w, err := OpenWatermark(id)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	const entries = 20
	begun := transactions(t, filepath.Join(dir, logFile))
	for i := uint64(1); i <= entries; i++ {
		if err := errors.Join(s.Logs.StoreLog(entry(i, 1, "a")), w.Raise(markAt(uuid.NewString(), i))); err != nil {
			t.Fatal(err)
		}
	}
	if made := transactions(t, filepath.Join(dir, logFile)) - begun; made != entries {
		t.Errorf("%d entries cost %d transactions", entries, made)
	}
	_ = unwritten(t) // skips where the kernel reports no pages
	if pages, _ := dirty(t, filepath.Join(dir, watermarkFile)); pages == 0 {
		t.Error("the watermark waited for the disk")
	}
}

// transactions returns the number of transactions that a store of bbolt has made durable: the greater one of its two meta pages.
func transactions(t *testing.T, path string) (last uint64) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const txid = 64 // offset in a meta page
	for meta := range 2 {
		last = max(last, binary.NativeEndian.Uint64(raw[meta*os.Getpagesize()+txid:]))
	}
	return last
}
