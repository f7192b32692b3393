package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/memberlist"
	"github.com/hashicorp/raft"

	"github.com/snowraft/snowraft/cluster/peer"
	"github.com/snowraft/snowraft/internal/test/clusterkit"
)

func TestTwinsAreMembersOfOneName(t *testing.T) {
	t.Parallel()
	members := []Member{{ID: "1"}, {ID: "2"}, {ID: "3", Name: "a"}, {ID: "4", Name: "b"}}
	if got := twinsOf(members); got != (twins{}) {
		t.Errorf("twinsOf() = %v with different names, want none", got)
	}
	members[2].Name = "b"
	if got, want := twinsOf(members), (twins{"b", "3 and 4"}); got != want {
		t.Errorf("twinsOf() = %v, want %v", got, want)
	}
}

// A leader adds no node with the name of a member, dead or alive, or of the leader, unless the node sets ForceName.
func TestTakenNameIsNotAdded(t *testing.T) {
	t.Parallel()
	log := new(clusterkit.Log)
	mem := raft.NewInmemStore()
	n := openAlone(t, mem, mem, func(c *Config) {
		c.Timing.Reconcile, c.Timing.PromoteAfter = time.Hour, time.Hour
		c.Logger = slog.New(slog.NewTextHandler(log, nil))
	})
	t.Cleanup(func() { _ = n.Close(context.Background()) })
	untilLeader(t, n)
	reconcile := func() {
		t.Helper()
		for range 3 {
			n.reconciled(t)
		}
	}
	node := func(name string) peer.Meta {
		m := clusterkit.NewMeta()
		m.Name, m.Cluster = name, ""
		n.gossip.RecordClaim(m, true)
		return m
	}
	first := node("b")
	reconcile()
	if _, ok := n.server(first.ID); !ok {
		t.Fatal("a node with a free name is not added")
	}
	second, own, free := node("b"), node(n.cfg.Name), node("c")
	for range 3 {
		reconcile()
	}
	for _, m := range []peer.Meta{second, own} {
		if _, ok := n.server(m.ID); ok {
			t.Errorf("a node with the taken name %q was added", m.Name)
		}
		if n := log.Lines("taken"); n == 0 || log.Lines("peer_id="+m.ID) != 1 {
			t.Errorf("%d lines about node %s in the log", log.Lines("peer_id="+m.ID), m.ID)
		}
	}
	if _, ok := n.server(free.ID); !ok {
		t.Error("a node with a free name is not added after others are refused")
	}
	if taken, ok := n.nameTaken(second); !ok || taken.ID != first.ID {
		t.Errorf("nameTaken() = %+v, %t", taken, ok)
	}
	n.gossip.NotifyLeave(&memberlist.Node{Name: first.GossipName(), Meta: first.Encode()})
	if _, ok := n.nameTaken(second); !ok {
		t.Error("the name of a member that is not alive is free")
	}
	first.Name = "d"
	n.gossip.RecordClaim(first, true)
	if _, ok := n.nameTaken(second); ok {
		t.Error("the name is still taken")
	}
	reconcile()
	if _, ok := n.server(second.ID); ok {
		t.Error("a process that was refused, and has halted, is added when the name is free")
	}
	restarted := clusterkit.Restarted(second)
	n.gossip.RecordClaim(restarted, true)
	reconcile()
	if _, ok := n.server(second.ID); !ok {
		t.Error("a node that was refused is not added after its next start")
	}
	second = node("b")
	reconcile()
	if _, ok := n.server(second.ID); ok {
		t.Error("a node with the taken name was added")
	}
	second = clusterkit.Restarted(second)
	second.ForceName = true
	n.gossip.RecordClaim(second, true)
	reconcile()
	if _, ok := n.server(second.ID); !ok {
		t.Error("a node with ForceName is not added")
	}
	// A member keeps its name even if another member has the same name.
	if _, ok := n.nameTaken(peer.Meta{ID: free.ID, Name: "c"}); ok {
		t.Error("a member takes its own name")
	}
}

// A leader that does not know the name of a member waits for it, for at most namesWithin.
func TestUnknownNameDelaysAddition(t *testing.T) {
	t.Parallel()
	n, _ := withNonvoter(t, newRemovals())
	unknown := clusterkit.NewMeta()
	if err := n.raft.AddNonvoter(raft.ServerID(unknown.ID), peer.RaftAddress(unknown.ID, unknown.Raft), 0, 0).Error(); err != nil {
		t.Fatal(err)
	}
	m := clusterkit.NewMeta()
	m.Name, m.Cluster = "z", ""
	n.gossip.RecordClaim(m, true)
	for _, c := range []struct {
		led  time.Duration
		want bool
	}{{0, false}, {namesWithin + time.Second, true}} {
		clusterkit.Eventually(t, "the leader reconciles", func() bool {
			return n.changeMembership(func() error {
				n.ledSince = n.mono() - c.led
				return n.reconcile()
			}) == nil
		})
		if _, ok := n.server(m.ID); ok != c.want {
			t.Errorf("added %v after the election: %t", c.led, ok)
		}
	}
}

// Only the refused process halts, and only before it has joined a cluster.
func TestRefusedName(t *testing.T) {
	t.Parallel()
	said := func(process string) []byte {
		raw, err := json.Marshal(nameRefusal{Process: process, ID: clusterkit.NodeID(7), Raft: "b:1", Alive: true})
		if err != nil {
			t.Fatal(err)
		}
		return append([]byte{nameRefused}, raw...)
	}
	for name, c := range map[string]struct {
		node  func() *Node
		said  func(n *Node) []byte
		halts bool
	}{
		"new":                 {func() *Node { return waiting(clusterkit.NodeID(1), 0) }, func(n *Node) []byte { return said(n.process) }, true},
		"another process":     {func() *Node { return waiting(clusterkit.NodeID(1), 0) }, func(*Node) []byte { return said(peer.NewProcess()) }, false},
		"no process":          {func() *Node { return waiting(clusterkit.NodeID(1), 0) }, func(*Node) []byte { return said("") }, false},
		"garbage":             {func() *Node { return waiting(clusterkit.NodeID(1), 0) }, func(*Node) []byte { return []byte{nameRefused, '{'} }, false},
		"member of a cluster": {func() *Node { return ofCluster(t) }, func(n *Node) []byte { return said(n.process) }, false},
	} {
		n := c.node()
		n.failed, n.logger = make(chan struct{}), slog.New(slog.DiscardHandler)
		n.gossip.Handlers = map[byte]func([]byte){nameRefused: n.onNameRefused}
		n.gossip.NotifyMsg(c.said(n))
		if failure := n.Failure(); (failure != nil) != c.halts {
			t.Errorf("%s: halts with %v", name, failure)
		} else if c.halts && (!errors.Is(failure, ErrNameTaken) || !strings.Contains(failure.Error(), clusterkit.NodeID(7)) || !strings.Contains(failure.Error(), n.ID())) {
			t.Errorf("%s: %v", name, failure)
		}
	}
}

// Two new nodes with one name do not start a cluster. If that lasts, the node with the greater ID halts.
func TestNewNodesOfOneName(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, b, c := waiting(clusterkit.NodeID(1), 3), waiting(clusterkit.NodeID(2), 3), waiting(clusterkit.NodeID(3), 3)
		all := []*Node{a, b, c}
		for i, n := range all {
			n.cfg.Name = []string{"x", "y", "x"}[i]
			n.failed, n.logger = make(chan struct{}), slog.New(slog.DiscardHandler)
		}
		for range 3 * int(namesApart/time.Second) / 2 {
			for _, n := range all {
				n.hear(all...)
				if set := n.agreedSet(); set != nil {
					t.Fatalf("nodes with one name start a cluster: %v", set)
				}
			}
			<-time.After(time.Second)
		}
		for _, n := range all {
			if failed := n.Failure() != nil; failed != (n == c) {
				t.Errorf("node %s halts: %v", n.ID(), n.Failure())
			}
		}
		// --force-name and a removal, which help in a cluster, do not help here.
		if text := fmt.Sprint(c.Failure()); !strings.Contains(text, a.ID()) || !strings.Contains(text, "choose another --name") || strings.Contains(text, "--force-name") {
			t.Errorf("node %s halts with %s", c.ID(), text)
		}
		c.cfg.Name = "z"
		for range 2 {
			for _, n := range all {
				n.hear(all...)
				n.agreedSet()
			}
		}
		if a.agreedSet() == nil {
			t.Error("nodes with different names start no cluster")
		}
	})
}
