package server_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

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
		// The holder's name is in the command that granted its worker. Unused pages may hold a copy.
		path, holder := dataFile(n, "raft.db"), []byte(n.cfg.Name+"/0")
		raw, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(raw, holder) {
			t.Fatalf("%s has no entry of the holder: %v", path, err)
		}
		if err := os.WriteFile(path, bytes.ReplaceAll(raw, holder, bytes.ToUpper(holder)), 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := server.Open(t.Context(), n.cfg)
		if err == nil {
			_ = s.Close(t.Context())
		}
		var corrupt *storage.CorruptError
		if !errors.As(err, &corrupt) || corrupt.Path != path {
			t.Errorf("Open() = %v, want an error that names the damaged file", err)
		}
		for _, o := range except(nodes, n) {
			o.mustGenerate(10)
		}
	})
}

func TestRestartFromSnapshot(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		nodes := startCluster(t, 3)
		all := make(seen)
		n := follower(t, nodes)
		all.add(t, "before", n.mustGenerate(1000)...)
		workers := n.status().GetLanes()
		if err := n.server.Member().Node().Snapshot(); err != nil {
			t.Fatal(err)
		}
		n.stop()
		n.start().untilReady()
		all.add(t, "after", n.mustGenerate(1000)...)
		if now := n.status().GetLanes(); now[0].GetWorker() != workers[0].GetWorker() {
			t.Errorf("worker %d after a graceful restart, %d before", now[0].GetWorker(), workers[0].GetWorker())
		}
	})
}

func dataFile(n *node, name string) string { return filepath.Join(n.cfg.DataDir, name) }
