package storage

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/raft"
	"go.etcd.io/bbolt"
)

// TestTornFirstWrite leaves a file in each state that a power loss can leave during the first writes.
func TestTornFirstWrite(t *testing.T) {
	t.Parallel()
	const sector = 512
	whole := t.TempDir()
	s, id, err := openTestStore(t, whole, new([]error))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Close(), id.Close()); err != nil {
		t.Fatal(err)
	}
	member, err := os.ReadFile(id.path())
	if err != nil {
		t.Fatal(err)
	}
	second, err := os.ReadFile(filepath.Join(whole, logFile))
	if err != nil {
		t.Fatal(err)
	}
	empty := filepath.Join(t.TempDir(), logFile)
	db, err := bbolt.Open(empty, 0o600, &bbolt.Options{NoFreelistSync: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	first, err := os.ReadFile(empty)
	if err != nil {
		t.Fatal(err)
	}
	size := 4 * os.Getpagesize() // pages that bbolt initializes
	for name, raw := range map[string]func(stored int) []byte{
		"cut off":              func(stored int) []byte { return first[:stored] },
		"zeroes":               func(stored int) []byte { return append(bytes.Clone(first[:stored]), make([]byte, size-stored)...) },
		"cut off later":        func(stored int) []byte { return second[:stored] },
		"zeroes instead later": func(stored int) []byte { return append(bytes.Clone(second[:stored]), make([]byte, size-stored)...) },
	} {
		for stored := sector; stored < size; stored += sector {
			for _, held := range []bool{false, true} {
				dir := t.TempDir()
				path := filepath.Join(dir, logFile)
				if err := errors.Join(os.WriteFile(filepath.Join(dir, identityFile), member, 0o600),
					os.WriteFile(path, raw(stored), 0o600)); err != nil {
					t.Fatal(err)
				}
				if held {
					id := mustOpen(t, dir)
					if err := errors.Join(id.sawTerm(), id.Close()); err != nil {
						t.Fatal(err)
					}
				}
				s, _, err := openTestStore(t, dir, new([]error))
				if held {
					if _, ok := errors.AsType[*CorruptError](err); !ok {
						t.Errorf("%s, %d bytes of a file that held a term: %v", name, stored, err)
					}
					continue
				}
				if err != nil {
					t.Errorf("%s, %d bytes: %v", name, stored, err)
					continue
				}
				if err := errors.Join(s.Stable.SetUint64([]byte("CurrentTerm"), 1), s.Close()); err != nil {
					t.Errorf("%s, %d bytes: %v", name, stored, err)
				}
				kept, err := os.ReadFile(path + asideSuffix)
				if errors.Is(err, os.ErrNotExist) && stored > size-os.Getpagesize() {
					continue // the last page is empty, so nothing is missing
				}
				if err != nil || !bytes.Equal(kept, raw(stored)) {
					t.Errorf("%s, %d bytes: set aside %d, %v", name, stored, len(kept), err)
				}
			}
		}
	}
}

func TestOnlyAnEmptyLogIsSetAside(t *testing.T) {
	for name, c := range map[string]struct {
		prepare func(dir string, id *Identity) error
		aside   bool
	}{
		"new":          {func(string, *Identity) error { return nil }, true},
		"of a cluster": {func(_ string, id *Identity) error { _, err := id.Adopt("c"); return err }, true},
		"held a term":  {func(_ string, id *Identity) error { return id.sawTerm() }, false},
		"held a log":   {func(_ string, id *Identity) error { return id.sawLog() }, false},
		"a snapshot": {func(dir string, _ *Identity) error {
			return os.MkdirAll(filepath.Join(dir, snapshotDir, "2-9-1"), 0o700)
		}, false},
		"no file to be": {func(dir string, _ *Identity) error { return os.MkdirAll(filepath.Join(dir, logFile, "x"), 0o700) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			id := mustOpen(t, dir)
			if err := errors.Join(c.prepare(dir, id), id.Close()); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, logFile)
			_ = os.WriteFile(path, []byte(strings.Repeat("torn", 999)), 0o600)
			s, _, err := openTestStore(t, dir, new([]error))
			if (err == nil) != c.aside {
				t.Fatalf("opened: %v", err)
			}
			if err == nil {
				_ = s.Close()
			}
			if _, err := os.Stat(path + asideSuffix); (err == nil) != c.aside {
				t.Errorf("set aside: %v", err)
			}
		})
	}
}

// Raft refuses to bootstrap a node that has a term.
func TestInterruptedBootstrapIsTakenBack(t *testing.T) {
	set := func(s *Store, key string, val uint64) error { return s.Stable.SetUint64([]byte(key), val) }
	for name, c := range map[string]struct {
		stored func(s *Store, id *Identity) error
		back   bool
	}{
		"the term only": {func(s *Store, _ *Identity) error { return set(s, "CurrentTerm", 1) }, true},
		"of a cluster": {func(s *Store, id *Identity) error {
			_, err := id.Adopt("c")
			return errors.Join(err, set(s, "CurrentTerm", 1))
		}, false},
		"another term": {func(s *Store, _ *Identity) error { return set(s, "CurrentTerm", 2) }, false},
		"a vote": {func(s *Store, _ *Identity) error {
			return errors.Join(set(s, "CurrentTerm", 1), set(s, "LastVoteTerm", 1))
		}, false},
		"the configuration too": {func(s *Store, _ *Identity) error {
			return errors.Join(set(s, "CurrentTerm", 1), s.Logs.StoreLog(entry(1, 1, "x")))
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s, id, err := openTestStore(t, dir, new([]error))
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(set(s, "CurrentTerm", 0), c.stored(s, id)); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if s, id, err = reopen(t, dir, s, id); err != nil {
					t.Fatal(err)
				}
				term, err := s.Stable.GetUint64([]byte("CurrentTerm"))
				if err != nil || (term == 0) != c.back {
					t.Errorf("term %d, %v", term, err)
				}
			}
			if !c.back {
				return
			}
			_, trans := raft.NewInmemTransport("a")
			conf := raft.DefaultConfig()
			conf.LocalID, conf.LogOutput = raft.ServerID(id.Node()), io.Discard
			servers := raft.Configuration{Servers: []raft.Server{{ID: conf.LocalID, Address: "a"}}}
			if err := raft.BootstrapCluster(conf, s.Logs, s.Stable, s.Snapshots, trans, servers); err != nil {
				t.Error(err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
