package storage

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"
)

// Mapped memory behind the end of a file behaves like pages that a dead disk cannot read.
func TestUnreadablePagesAreErrors(t *testing.T) {
	unreadable := func(err error) bool { e, ok := errors.AsType[*DiskError](err); return ok && e.Reading }
	senseless := func(err error) bool { _, ok := errors.AsType[*CorruptError](err); return ok }
	tree := int64(2 * os.Getpagesize()) // behind the metadata
	for name, harm := range map[string]struct {
		file  func(path string) error
		isNow func(error) bool
	}{
		"unreadable":      {func(path string) error { return os.Truncate(path, 0) }, unreadable},
		"unreadable tree": {func(path string) error { return os.Truncate(path, tree) }, unreadable},
		"senseless":       {func(path string) error { return zeroes(path, 0) }, senseless},
		"senseless tree":  {func(path string) error { return zeroes(path, tree) }, senseless},
	} {
		for what, use := range map[string]func(*Store) error{
			"first index": func(s *Store) error { _, err := s.bolt.FirstIndex(); return err },
			"last index":  func(s *Store) error { _, err := s.bolt.LastIndex(); return err },
			"get log":     func(s *Store) error { return s.log.GetLog(1, new(raft.Log)) },
			"store":       func(s *Store) error { return s.log.StoreLog(entry(1001, 1, "x")) },
			"delete":      func(s *Store) error { return s.log.DeleteRange(1, 10) },
			"set":         func(s *Store) error { return s.stable.SetUint64([]byte("CurrentTerm"), 2) },
			"get":         func(s *Store) error { _, err := s.stable.Get([]byte("CurrentTerm")); return err },
		} {
			t.Run(name+"/"+what, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				s, _, err := openTestStore(t, dir, new([]error))
				if err != nil {
					t.Fatal(err)
				}
				var entries []*raft.Log
				for i := range uint64(1000) {
					entries = append(entries, entry(i+1, 1, "some bytes that make the tree more than one page high"))
				}
				if err := errors.Join(s.log.StoreLogs(entries), s.stable.SetUint64([]byte("CurrentTerm"), 1)); err != nil {
					t.Fatal(err)
				}
				if err := harm.file(filepath.Join(dir, logFile)); err != nil {
					t.Fatal(err)
				}
				err = use(s)
				pages, ok := errors.AsType[*brokenPages](err)
				if !ok {
					t.Fatalf("the error is %v", err)
				}
				if said := readError("x", pages); !harm.isNow(said) {
					t.Errorf("the error is %v", said)
				}
				if again := use(s); !errors.Is(again, pages) {
					t.Errorf("the next error is %v", again)
				}
				if err := s.Close(); err != nil { // a store that does not close is an error after StuckTimeout
					t.Error(err)
				}
			})
		}
	}
}

// zeroes overwrites a file from an offset on.
func zeroes(path string, from int64) error {
	raw, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(make([]byte, int64(len(raw))-from), from)
	return errors.Join(err, f.Close())
}

// stubbornBolt can't be closed gracefully.
type stubbornBolt struct {
	*raft.InmemStore
	close func() error
}

func (b stubbornBolt) Close() error { return b.close() }

func TestCloseWithFailedDisk(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		close func(end chan struct{}) error
		took  time.Duration
		says  string
	}{
		"the lock is held": {func(end chan struct{}) error { <-end; return nil }, StuckTimeout, "does not respond"},
		"it panics":        {func(chan struct{}) error { panic("page 7") }, 0, "page 7"},
		"it fails":         {func(chan struct{}) error { return errFull }, 0, errFull.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				end := make(chan struct{})
				defer close(end)
				g := newGuardedBolt(stubbornBolt{raft.NewInmemStore(), func() error { return c.close(end) }})
				began := time.Now()
				if err := g.close(); err == nil || !strings.Contains(err.Error(), c.says) || time.Since(began) != c.took {
					t.Errorf("closed in %v: %v", time.Since(began), err)
				}
			})
		})
	}
}
