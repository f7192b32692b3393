package cluster

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/hashicorp/raft"

	"github.com/snowraft/snowraft/cluster/logging"
)

// heldFSM applies nothing until held is closed.
type heldFSM struct {
	emptyFSM
	held chan struct{}
}

func (f heldFSM) Apply(*raft.Log) any {
	<-f.held
	return nil
}

// leadAlone starts raft on a node that bare returned, and waits until it leads.
func leadAlone(t *testing.T, n *Node) {
	t.Helper()
	_, trans := raft.NewInmemTransport("a")
	conf := n.cfg.raftConfig(n.ID(), n.notify, logging.Hashicorp(n.logger, "raft", nil))
	servers := raft.Configuration{Servers: []raft.Server{{ID: raft.ServerID(n.ID()), Address: "a"}}}
	if err := raft.BootstrapCluster(conf, n.store.Logs, n.store.Stable, n.store.Snapshots, trans, servers); err != nil {
		t.Fatal(err)
	}
	r, err := n.newRaft(trans)
	if err != nil {
		t.Fatal(err)
	}
	n.raft = r
	<-n.notify
	n.leads.Store(r.CurrentTerm())
}

// Raft stops while entries wait for the state machine. It never answers their futures, except with a chance of one half for each.
func TestStopEndsAllWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n, _ := bare(t)
		held := make(chan struct{})
		n.cfg.FSM = heldFSM{held: held}
		leadAlone(t, n)
		var wg sync.WaitGroup
		wait := func(what string, do func() error) {
			wg.Go(func() {
				if err := do(); err != nil && !errors.Is(err, ErrUnknownOutcome) {
					t.Errorf("%s: %v, want nil or %v", what, err, ErrUnknownOutcome)
				}
			})
			synctest.Wait() // the entry is committed, in a batch of its own
		}
		for range 20 {
			wait("Propose", func() error {
				_, err := n.Propose(t.Context(), []byte("x"))
				return err
			})
		}
		for range 10 {
			wait("applied", func() error {
				return proposalError(n.awaitApplied(t.Context(), func() raft.Future { return n.raft.Barrier(0) }))
			})
		}
		wait("settle", func() error {
			return proposalError(<-n.outcome(n.raft.AddNonvoter("b", "b", 0, 0)))
		})
		wg.Go(func() {
			if err := n.stopRaft(); err != nil {
				t.Errorf("stopRaft() = %v", err)
			}
		})
		synctest.Wait()
		close(held)
		wg.Wait()
	})
}

// The futures of all kinds that this package waits for have a ShutdownCh.
func TestAwaitEachKindOfFuture(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n, _ := bare(t)
		leadAlone(t, n)
		r := n.raft
		for _, c := range []struct {
			kind string
			call func() raft.Future
			want error
		}{
			{"Apply", func() raft.Future { return r.Apply([]byte("x"), 0) }, nil},
			{"Barrier", func() raft.Future { return r.Barrier(0) }, nil},
			{"AddVoter", func() raft.Future { return r.AddVoter(raft.ServerID(n.ID()), "a", 0, 0) }, nil},
			{"AddNonvoter", func() raft.Future { return r.AddNonvoter("b", "b", 0, 0) }, nil},
			{"RemoveServer", func() raft.Future { return r.RemoveServer("b", 0, 0) }, nil},
			{"BootstrapCluster", func() raft.Future { return r.BootstrapCluster(raft.Configuration{}) }, raft.ErrCantBootstrap},
		} {
			if err := n.await(c.call()); !errors.Is(err, c.want) {
				t.Errorf("%s: %v, want %v", c.kind, err, c.want)
			}
		}
		if n.await(r.Snapshot()) == nil {
			t.Error("a snapshot was taken while a configuration is newer than the state")
		}
		if n.await(r.LeadershipTransfer()) == nil || n.await(r.LeadershipTransferToServer("c", "c")) == nil {
			t.Error("leadership was transferred to no node")
		}
		if err := n.stopRaft(); err != nil {
			t.Error(err)
		}
		if err := n.await(r.Apply(nil, 0)); !errors.Is(err, raft.ErrRaftShutdown) {
			t.Errorf("Apply after the end: %v", err)
		}
	})
}
