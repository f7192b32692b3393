package cluster

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/snowraft/snowraft/cluster/peer"
	"github.com/snowraft/snowraft/internal/test/clusterkit"
)

// A leader adds no node whose program does not know the commands of the cluster, until the node runs a newer program.
func TestTooOldProgramIsNotAdded(t *testing.T) {
	t.Parallel()
	log := new(clusterkit.Log)
	mem := raft.NewInmemStore()
	n := openAlone(t, mem, mem, func(c *Config) {
		c.Timing.Reconcile, c.Timing.PromoteAfter = time.Hour, time.Hour
		c.Logger, c.Used = slog.New(slog.NewTextHandler(log, nil)), func() uint32 { return 2 }
	})
	t.Cleanup(func() { _ = n.Close(context.Background()) })
	untilLeader(t, n)
	m := clusterkit.NewMeta()
	m.Name, m.Cluster = "b", ""
	for _, c := range []struct {
		knows uint32
		added bool
	}{{1, false}, {0, false}, {2, true}} {
		m = clusterkit.Restarted(m)
		m.Commands = c.knows
		n.gossip.RecordClaim(m, true)
		for range 3 {
			n.reconciled(t)
		}
		if _, ok := n.server(m.ID); ok != c.added {
			t.Errorf("a node that knows commands up to %d was added: %t", c.knows, ok)
		}
	}
	if lines := log.Lines("used=2"); lines != 2 {
		t.Errorf("%d lines about programs in the log, want 2", lines)
	}
}

// Only the refused process halts, only before it has joined a cluster, and only if its program is too old.
func TestRefusedProgram(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		node    func() *Node
		process string // the node's own if empty
		used    uint32
		halts   bool
	}{
		"new":                 {func() *Node { return waiting(clusterkit.NodeID(1), 0) }, "", 3, true},
		"another process":     {func() *Node { return waiting(clusterkit.NodeID(1), 0) }, peer.NewProcess(), 3, false},
		"known commands":      {func() *Node { return waiting(clusterkit.NodeID(1), 0) }, "", 1, false},
		"member of a cluster": {func() *Node { return ofCluster(t) }, "", 3, false},
	} {
		n := c.node()
		n.failed, n.logger, n.cfg.Commands = make(chan struct{}), slog.New(slog.DiscardHandler), 1
		n.gossip.Handlers = map[byte]func([]byte){programRefused: n.onProgramRefused}
		raw, err := json.Marshal(programRefusal{Process: cmp.Or(c.process, n.process), Used: c.used})
		if err != nil {
			t.Fatal(err)
		}
		n.gossip.NotifyMsg(append([]byte{programRefused}, raw...))
		if failure := n.Failure(); (failure != nil) != c.halts {
			t.Errorf("%s: halts with %v", name, failure)
		} else if c.halts && (!errors.Is(failure, ErrTooOld) || !strings.Contains(failure.Error(), "fsm_version 3, and this program knows them up to fsm_version 1")) {
			t.Errorf("%s: %v", name, failure)
		}
	}
}
