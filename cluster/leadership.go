package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/hashicorp/raft"

	"github.com/snowraft/snowraft/cluster/leadership"
	"github.com/snowraft/snowraft/cluster/peer"
	"github.com/snowraft/snowraft/internal/events"
)

const (
	barrierTimeout = 30 * time.Second
	// stuckTransfer is the time for which raft may report to a newly elected node that a transfer of leadership is in
	// progress. It is far longer than a transfer takes.
	stuckTransfer = 5 * time.Second
)

// errStuckTransfer reports a state that raft 1.7.3 can reach when transfers to a node that does not answer fail repeatedly:
// leadershipTransfer blocks on a full channel of a replication that has ended. Raft then refuses everything, but keeps
// sending heartbeats, so that no other voter is elected. Only a new process leaves that state.
var errStuckTransfer = errors.New("a failed leadership transfer blocks Raft, member halted; restart this member, its data is intact")

// follow is the only consumer of raft's leadership changes.
func (n *Node) follow() {
	var stop func()
	defer func() {
		if stop != nil {
			stop()
		}
	}()
	for {
		select {
		case <-n.ctx.Done():
			return
		case leads := <-n.notify:
			if stop != nil {
				stop() // also on a second "leads": leadership was lost and won again in between
				stop = nil
			}
			if leads {
				term := n.Term()
				cause := n.elections.CountWin(term)
				n.cfg.Events.Note(events.Election, slog.LevelInfo, fmt.Sprintf("%s was elected leader in term %d: %s", n.cfg.Name, term, cause.Because()))
				stop = n.startLeading()
			}
			n.leader.Send()
		}
	}
}

// startLeading runs lead until the returned function is called, which waits until lead returns.
func (n *Node) startLeading() (stop func()) {
	ctx, cancel := context.WithCancel(n.ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		n.lead(ctx)
	}()
	return func() {
		cancel()
		<-done
	}
}

// lead runs the leader's tasks until ctx is canceled.
func (n *Node) lead(ctx context.Context) {
	var term uint64
	began, accepted := time.Now(), false
	defer func() {
		if accepted {
			n.becomeWitnessIfLeaderless()
		} else {
			n.becomeWitnessIfOpposed()
		}
	}()
	for {
		term = n.raft.CurrentTerm()
		err := n.commitFirstCommand(ctx)
		if ctx.Err() != nil {
			return
		}
		if err == nil && n.raft.CurrentTerm() == term { // this node leads in this term
			break
		}
		if errors.Is(err, raft.ErrLeadershipTransferInProgress) && time.Since(began) > stuckTransfer {
			n.Fail(errStuckTransfer)
			return
		}
		n.logger.Warn("leadership not established; transferring it", "error", err)
		n.cfg.Events.Note(events.Election, slog.LevelWarn, n.cfg.Name+" was elected, but could not begin to lead")
		n.raft.LeadershipTransfer()
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Second): // no voter took leadership
		}
	}
	if n.awaitSeeds(ctx); ctx.Err() != nil || n.Failure() != nil {
		return
	}
	n.logger.Info("leadership acquired", "term", term)
	n.fitSince, n.refusedNames, n.ledSince = nil, make(map[string]refusedName), n.mono()
	accepted = true
	n.leads.Store(term)
	n.leader.Send()
	defer func() {
		n.changing <- struct{}{} // a change ends in the term in which it began
		n.leads.Store(0)
		<-n.changing
		if n.terms != nil {
			n.terms.HangUp(ErrNotLeader)
		}
		n.logger.Info("leadership lost", "term", term)
		n.cfg.Events.Note(events.Election, slog.LevelInfo, fmt.Sprintf("%s no longer leads; it led in term %d", n.cfg.Name, term))
	}()
	duties := make(chan struct{})
	go func() {
		defer close(duties)
		n.cfg.Lead(ctx)
	}()
	defer func() { <-duties }()
	judging := make(chan struct{})
	go func() {
		defer close(judging)
		n.judgeVoters(ctx)
	}()
	defer func() { <-judging }()
	n.reconcileLoop(ctx)
}

// commitFirstCommand commits the first command of a leadership. When it returns, this node has applied all entries that earlier leaders
// committed.
func (n *Node) commitFirstCommand(ctx context.Context) error {
	first, err := n.firstCommand()
	if first == nil && err == nil {
		if err = n.awaitApplied(ctx, func() raft.Future { return n.raft.Barrier(barrierTimeout) }); err != nil {
			return err
		}
		first, err = n.firstCommand() // the entries of earlier leaders may have changed it
	}
	if first == nil || err != nil {
		return err
	}
	return n.awaitApplied(ctx, func() raft.Future { return n.raft.Apply(first, barrierTimeout) })
}

func (n *Node) firstCommand() ([]byte, error) {
	if n.cfg.First == nil {
		return nil, nil
	}
	return n.cfg.First()
}

// awaitApplied waits for an entry that this node appends as the leader. It returns at once when ctx ends: raft may take no entry
// before follow takes its next notification, and follow waits for lead.
func (n *Node) awaitApplied(ctx context.Context, appends func() raft.Future) error {
	done := make(chan error, 1)
	go func() { done <- n.await(appends()) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// IsLeader reports whether this node leads and is ready to serve as the leader.
func (n *Node) IsLeader() bool { return n.leads.Load() != 0 }

// LeadingTerm returns the term in which this node leads and is ready to serve as the leader; 0 while it does not.
func (n *Node) LeadingTerm() uint64 { return n.leads.Load() }

// Term returns raft's current term.
func (n *Node) Term() uint64 { return n.raft.CurrentTerm() }

// termIfOpen returns Term; ok is false before raft runs.
func (n *Node) termIfOpen() (term uint64, ok bool) {
	select {
	case <-n.opened:
		return n.Term(), true
	default:
		return 0, false
	}
}

// CommitIndex returns the index of the last log entry that this node knows to be committed.
func (n *Node) CommitIndex() uint64 { return n.raft.CommitIndex() }

// LastIndex returns the index of the last log entry of this node, committed or not.
func (n *Node) LastIndex() uint64 { return n.raft.LastIndex() }

// InTouch reports whether this node follows a leader and has heard from it within the heartbeat timeout.
func (n *Node) InTouch() bool {
	_, leader := n.raft.LeaderWithID()
	return leader != "" && time.Since(n.raft.LastContact()) < n.cfg.Timing.Heartbeat
}

// onReceived notes what a request of another node says, before raft handles it.
func (n *Node) onReceived(command any) {
	switch r := command.(type) {
	case *raft.TimeoutNowRequest: // a leader has chosen this node as its successor
		n.elections.Expect(n.Term()+1, leadership.Transfer)
	case *raft.AppendEntriesRequest:
		if r.Term >= n.Term() {
			n.heard.CompareAndSwap(0, r.LeaderCommitIndex)
		}
	}
}

// Heard returns the commit index that a leader announced first since the start of this process; false before.
func (n *Node) Heard() (committed uint64, ok bool) {
	committed = n.heard.Load()
	return committed, committed != 0
}

// AppliedIndex returns the index of the last log entry that this node has applied.
func (n *Node) AppliedIndex() uint64 { return n.raft.AppliedIndex() }

// Leader returns the member that leads, as far as this node knows; false if it knows none.
func (n *Node) Leader() (Member, bool) {
	_, id := n.raft.LeaderWithID()
	s, ok := n.server(string(id))
	if !ok {
		return Member{}, false
	}
	return n.describe(s, n.meta(), id), true
}

// LeaderChanged returns a channel that is closed when the known leader changes, or when this node becomes ready to lead.
func (n *Node) LeaderChanged() <-chan struct{} { return n.leader.Next() }

func (n *Node) hasSuccessor() bool {
	return slices.ContainsFunc(n.servers(), func(s raft.Server) bool {
		return s.Suffrage == raft.Voter && string(s.ID) != n.ID()
	})
}

// TransferLeadership transfers leadership to the voter id, or to a voter of raft's choice if id is empty, and returns the new
// leader. Only the leader can.
//
// Errors: ErrNotLeader if leadership did not move; ErrUnknownOutcome if the other voter may still take over;
// ErrNoSuccessor; ErrNotAlive; the errors of Member; the error of ctx, after which the transfer may continue.
func (n *Node) TransferLeadership(ctx context.Context, id string) (Member, error) {
	term := n.raft.CurrentTerm()
	var f raft.Future
	if id == "" {
		if !n.hasSuccessor() {
			return Member{}, ErrNoSuccessor
		}
		f = n.raft.LeadershipTransfer()
	} else {
		m, err := n.Member(id)
		if err != nil {
			return Member{}, err
		}
		if m.ID == n.ID() {
			return m, nil
		}
		if !m.Voter {
			return Member{}, fmt.Errorf("%w: %s is a nonvoter", ErrNoSuccessor, m.Name)
		}
		if !m.Alive {
			return Member{}, fmt.Errorf("%w: %s; name another voter, or none", ErrNotAlive, cmp.Or(m.Name, m.ID))
		}
		f = n.raft.LeadershipTransferToServer(raft.ServerID(m.ID), peer.RaftAddress(m.ID, m.Address))
	}
	select {
	case err := <-n.outcome(f):
		if err != nil {
			return Member{}, transferError(err)
		}
	case <-ctx.Done():
		return Member{}, ctx.Err()
	}
	for {
		changed := n.LeaderChanged()
		if m, ok := n.Leader(); ok && m.ID != n.ID() {
			return m, nil
		}
		if n.raft.State() == raft.Leader && n.raft.CurrentTerm() > term {
			return Member{}, fmt.Errorf("%w: leadership was transferred, but this member was elected again", ErrNotLeader)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return Member{}, ctx.Err()
		}
	}
}

// transferError wraps raft's errors as proposalError does. If raft may have requested a node to take over, that node can do
// so after raft has given up.
func transferError(err error) error {
	err = proposalError(err)
	if errors.Is(err, ErrUnknownOutcome) {
		err = fmt.Errorf("leadership was not transferred in time, and may still be transferred later; see \"snowraft leader get\": %w", err)
	}
	return err
}
