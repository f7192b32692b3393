package server_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"

	"github.com/snowraft/snowraft/cluster/storage"
	"github.com/snowraft/snowraft/server"
)

func TestDamagedLogEntryIsDetected(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		nodes := startCluster(t, 3)
		n := follower(t, nodes)
		n.mustGenerate(10)
		n.stop()
		// The test damages a byte of an entry's command, in the holder's name. The first occurrence of the name may be in a page
		// that is no longer in use.
		for damaged := false; !damaged; {
			flip(t, dataFile(n, "raft.db"), func(raw []byte) int { return bytes.Index(raw, []byte(n.cfg.Name+"/0")) })
			raw, err := os.ReadFile(dataFile(n, "raft.db"))
			if err != nil {
				t.Fatal(err)
			}
			damaged = !bytes.Contains(raw, []byte(n.cfg.Name+"/0"))
		}
		refusesToStart(t, n, "raft.db")
		for _, o := range nodes {
			if o != n {
				o.mustGenerate(10)
			}
		}
	})
}

func TestDamagedTermAndVoteAreDetected(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"CurrentTerm", "LastVoteTerm", "LastVoteCand"} {
		t.Run(key, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				n := startCluster(t, 1)[0]
				n.stop()
				store, err := raftboltdb.NewBoltStore(dataFile(n, "raft.db"))
				if err != nil {
					t.Fatal(err)
				}
				val, err := store.Get([]byte(key))
				if err != nil {
					t.Fatal(err)
				}
				val = bytes.Clone(val)
				val[7] ^= 1
				if err := errors.Join(store.Set([]byte(key), val), store.Close()); err != nil {
					t.Fatal(err)
				}
				refusesToStart(t, n, "raft.db")
			})
		})
	}
}

func TestMissingLogEntryIsDetected(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		n := startCluster(t, 1)[0]
		n.stop()
		store, err := raftboltdb.NewBoltStore(dataFile(n, "raft.db"))
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(store.DeleteRange(3, 3), store.Close()); err != nil {
			t.Fatal(err)
		}
		refusesToStart(t, n, "log entry 3")
	})
}

func TestLogOfZerosIsDetected(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		n := startCluster(t, 1)[0]
		n.stop()
		path := dataFile(n, "raft.db")
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		clear(raw[2*4096:]) // behind the two meta pages
		if err := os.WriteFile(path, raw, 0o600); err != nil {
			t.Fatal(err)
		}
		refusesToStart(t, n, "raft.db")
	})
}

func TestDamagedSnapshotIsDetected(t *testing.T) {
	t.Parallel()
	for _, part := range []string{"state.bin", "meta.json"} {
		t.Run(part, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				nodes := startCluster(t, 3, func(c *server.Config) { c.Timing.SnapshotThreshold = 8 })
				n := follower(t, nodes)
				snapshot := takeSnapshot(t, n)
				n.stop()
				flip(t, filepath.Join(snapshot, part), func(raw []byte) int {
					if part == "meta.json" {
						return bytes.Index(raw, []byte(`"Address":"`)) + len(`"Address":"`)
					}
					return len(raw) / 2
				})
				refusesToStart(t, n, "snapshots")
				for _, o := range nodes {
					if o != n {
						o.mustGenerate(10)
					}
				}
			})
		})
	}
}

// takeSnapshot makes a member write a snapshot and returns its directory.
func takeSnapshot(t *testing.T, n *node) string {
	t.Helper()
	var newest string
	until(t, "a snapshot was taken", func() bool {
		if err := n.server.Member().Node().Snapshot(); err != nil && !errors.Is(err, raft.ErrNothingNewToSnapshot) {
			t.Fatal(err)
		}
		found, err := filepath.Glob(dataFile(n, "snapshots/*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			if !strings.HasSuffix(f, ".tmp") {
				newest = f
			}
		}
		return newest != ""
	})
	return newest
}

func TestRestartFromSnapshot(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		nodes := startCluster(t, 3)
		all := make(seen)
		n := follower(t, nodes)
		all.add(t, "before", n.mustGenerate(1000)...)
		workers := n.status().GetLanes()
		takeSnapshot(t, n)
		n.stop()
		n.start().untilReady()
		all.add(t, "after", n.mustGenerate(1000)...)
		if now := n.status().GetLanes(); now[0].GetWorker() != workers[0].GetWorker() {
			t.Errorf("worker %d after a graceful restart, %d before", now[0].GetWorker(), workers[0].GetWorker())
		}
	})
}

func refusesToStart(t *testing.T, n *node, what string) {
	t.Helper()
	s, err := server.Open(t.Context(), n.cfg)
	if err == nil {
		_ = s.Close(t.Context())
		t.Fatal("started with a damaged data directory")
	}
	var corrupt *storage.CorruptError
	if !errors.As(err, &corrupt) || !strings.Contains(err.Error(), what) || !strings.Contains(err.Error(), "empty") {
		t.Fatalf("error without the damaged file (%s) or without an action: %v", what, err)
	}
}

func TestDataDirectoryInUse(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		n := startCluster(t, 1)[0]
		began := time.Now()
		_, err := server.Open(t.Context(), n.cfg)
		if err == nil || !strings.Contains(err.Error(), "in use by another process") {
			t.Fatalf("opened a second time: %v", err)
		}
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("the error took %v", took)
		}
		n.mustGenerate(10)
	})
}

// flip changes one byte in the middle of a found text in a file.
func flip(t *testing.T, path string, at func([]byte) int) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	i := at(raw)
	if i < 0 {
		t.Fatalf("%s does not contain the text to damage", path)
	}
	raw[i] ^= 0x40
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
}

func dataFile(n *node, name string) string { return filepath.Join(n.cfg.DataDir, name) }
