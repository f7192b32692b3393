package cluster

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/hashicorp/raft"

	"github.com/snowraft/snowraft/cluster/leadership"
	"github.com/snowraft/snowraft/cluster/lives"
	"github.com/snowraft/snowraft/cluster/logging"
	"github.com/snowraft/snowraft/cluster/transport"
)

func (n *Node) openRaft() error {
	trans := n.cfg.Transport
	n.greeter, _ = trans.(greeter)
	n.asker, _ = trans.(termSource)
	checker, _ := trans.(leadership.PeerChecker)
	n.livesDialer, _ = trans.(lives.Dialer)
	if trans == nil {
		n.stream = transport.NewStreamLayer(n.cfg.RaftListener, n.cfg.Keys, n.peering(), n.logger)
		n.greeter, checker, n.livesDialer = n.stream, n.stream, n.stream
		n.terms = transport.NewTermClient(n.stream.DialTerms)
		n.asker = n.terms
		n.network = raft.NewNetworkTransportWithConfig(&raft.NetworkTransportConfig{
			ServerAddressProvider: n,
			Logger:                logging.Hashicorp(n.logger, "transport", n.nameOf),
			Stream:                n.stream,
			MaxPool:               transport.PoolSize,
			MaxRPCsInFlight:       1, // a wedged pipeline looks healthy (hashicorp/raft#612)
			Timeout:               transport.Timeout,
		})
		trans = n.network
	}
	if checker != nil {
		n.succession = leadership.NewSuccession(follower{n}, checker, &n.links, n.cfg.Timing.Heartbeat, n.logger)
	}
	n.guarded = transport.NewGuarded(trans, n.opened, n.bounds, func(id raft.ServerID, args *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse) {
		if lost := n.replicated.Observe(id, args, resp, n.mono()); lost > 0 {
			n.noteLostBy(id, lost)
		}
	}, n.onReceived, n.onRefusedMessage)
	r, err := n.newRaft(transport.NewResuming(n.guarded, n.replicates))
	if err != nil {
		return errors.Join(fmt.Errorf("raft: %w", err), n.guarded.Close())
	}
	n.raft = r
	n.noteLost()
	close(n.opened)
	return nil
}

// peering returns what this node contributes to its Raft connections.
func (n *Node) peering() transport.Owner {
	return transport.Owner{
		Connect: n.cfg.Dial, Self: n.meta, JudgeGreeting: n.judgeGreeting, AddressesOf: n.addressesOf, NoteMet: n.gossip.RecordConfirmed, EarlierProcess: n.gossip.EarlierProcess,
		NoteDuplicate: n.onDuplicate, NoteRefused: n.onRefused, NoteForeign: n.foreign.Note, Term: n.termIfOpen, Mark: n.Mark,
		Links: &n.links, AnswerLoss: n.Witness,
		Life: n.life, LearnLife: n.learnLife, HearID: n.lives.HearID, ClaimLife: n.lives.Claim,
	}
}

// newRaft starts raft from its own goroutine, because a failure of the store ends that goroutine half-way.
func (n *Node) newRaft(trans transport.Transport) (r *raft.Raft, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		c := n.cfg.raftConfig(n.id.Node(), n.notify, logging.Hashicorp(n.logger, "raft", n.nameOf))
		snapshots := &observedSnapshots{judgedSnapshots{n.store.Snapshots, n}, n.cfg.Events, n.setSnapshotPace}
		c.SnapshotThreshold, c.TrailingLogs = n.cfg.Timing.logFor(snapshots.newest())
		r, err = raft.NewRaft(c, n.cfg.FSM, n.store.Logs, n.store.Stable, snapshots, trans)
	}()
	<-done
	if r == nil && err == nil {
		err = n.Failure()
	}
	return r, err
}

// bounds returns the present bounds of messages. It may be called once n.opened is closed.
func (n *Node) bounds() transport.Bounds {
	leads := n.raft.State() == raft.Leader // read before the term, so that it holds for this term or an earlier one
	return transport.Bounds{
		Leads: leads, Witness: n.Contradiction() != nil, Wall: n.cfg.Watch.Now().Wall,
		Term: n.raft.CurrentTerm(), Applied: n.raft.AppliedIndex(), Committed: max(n.raft.CommitIndex(), n.watermark.Mark().Index),
		EntryAt: func(index uint64) (entry raft.Log, ok bool) {
			err := n.store.Logs.GetLog(index, &entry)
			return entry, err == nil
		},
		Admit: n.cfg.Admit,
	}
}

// await returns the outcome of a future of raft's, or raft.ErrRaftShutdown once raft has stopped. All waits for futures other than
// that of the shutdown itself are here: when raft 1.7.3 stops, it leaves the futures of entries without an outcome that are
// committed, but not yet applied. A future also ends with its ShutdownCh, which raft sets for its own futures only.
func (n *Node) await(f raft.Future) error {
	if v := reflect.ValueOf(f); v.Kind() == reflect.Pointer { // an outcome that is known already comes as a value
		v.Elem().FieldByName("ShutdownCh").Set(reflect.ValueOf(n.stopped))
	}
	return f.Error()
}

// outcome delivers the result of await.
func (n *Node) outcome(f raft.Future) <-chan error {
	done := make(chan error, 1)
	go func() { done <- n.await(f) }()
	return done
}
