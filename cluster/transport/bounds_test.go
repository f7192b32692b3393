package transport

import (
	"bytes"
	"errors"
	"math"
	"testing"

	"github.com/hashicorp/raft"

	"github.com/snowraft/snowraft/internal/test/clusterkit"
)

// A stranger at a member's address cannot raise a candidate's term to the greatest number.
func TestAnswersInAbsurdTermAreRefused(t *testing.T) {
	t.Parallel()
	_, inner := raft.NewInmemTransportWithTimeout("a", clusterkit.Patience)
	_, stranger := raft.NewInmemTransport("b")
	inner.Connect("b", stranger)
	ready := make(chan struct{})
	close(ready)
	const wall = 1_800_000_000_000
	g := NewGuarded(inner, ready, func() Bounds { return Bounds{Term: 7, Wall: wall} },
		func(raft.ServerID, *raft.AppendEntriesRequest, *raft.AppendEntriesResponse) {}, func(any) {}, func(error) {})
	defer g.Close()
	var said uint64
	go func() {
		for rpc := range stranger.Consumer() {
			switch rpc.Command.(type) {
			case *raft.RequestVoteRequest:
				rpc.Respond(&raft.RequestVoteResponse{Term: said}, nil)
			case *raft.RequestPreVoteRequest:
				rpc.Respond(&raft.RequestPreVoteResponse{Term: said}, nil)
			case *raft.AppendEntriesRequest:
				rpc.Respond(&raft.AppendEntriesResponse{Term: said}, nil)
			case *raft.InstallSnapshotRequest:
				rpc.Respond(&raft.InstallSnapshotResponse{Term: said}, nil)
			}
		}
	}()
	for _, c := range []struct {
		term   uint64
		passes bool
	}{{8, true}, {wall + maxEarlyTerm, true}, {wall + maxEarlyTerm + 1, false}, {math.MaxUint64, false}} {
		said = c.term
		for name, err := range map[string]error{
			"vote":     g.RequestVote("b", "b", &raft.RequestVoteRequest{}, &raft.RequestVoteResponse{}),
			"pre-vote": g.RequestPreVote("b", "b", &raft.RequestPreVoteRequest{}, &raft.RequestPreVoteResponse{}),
			"entries":  g.AppendEntries("b", "b", &raft.AppendEntriesRequest{}, &raft.AppendEntriesResponse{}),
			"snapshot": g.InstallSnapshot("b", "b", &raft.InstallSnapshotRequest{}, &raft.InstallSnapshotResponse{}, bytes.NewReader(nil)),
		} {
			if (err == nil) != c.passes {
				t.Errorf("%s: answer in term %d: %v", name, c.term, err)
			}
		}
	}
}

// The bound on terms does not depend on a node's own term: a stranger cannot separate the nodes whose terms it has raised from
// the other nodes.
func TestTermBoundIsIndependentOfOwnTerm(t *testing.T) {
	t.Parallel()
	const wall = 1_800_000_000_000
	raised := Bounds{Term: wall + maxEarlyTerm, Wall: wall}
	behind := Bounds{Term: 1, Wall: wall}
	if err := behind.checkTerm(raised.Term); err != nil {
		t.Error(err)
	}
	if err := raised.checkTerm(raised.Term + 1); err == nil {
		t.Error("a term beyond the bound is accepted")
	}
	for _, b := range []Bounds{behind, raised} {
		b.Wall += 300 // ms, the time of an election
		if err := b.checkTerm(raised.Term + 1); err != nil {
			t.Errorf("the next election is lost: %v", err)
		}
	}
	if err := (Bounds{Wall: -1 << 63}).checkTerm(maxEarlyTerm); err != nil {
		t.Errorf("with a clock before 1970: %v", err)
	}
}

// A replaced leader learns the later term from the answer, although its entries cannot be accepted.
func TestEarlierTermsAreLeftToRaft(t *testing.T) {
	t.Parallel()
	b := Bounds{Term: 3, Applied: 9, Committed: 9, EntryAt: func(uint64) (raft.Log, bool) { return raft.Log{Term: 3}, true }}
	instead := &raft.AppendEntriesRequest{Term: 2, PrevLogEntry: 8, PrevLogTerm: 2, Entries: []*raft.Log{{Index: 9, Term: 2, Type: raft.LogNoop}}}
	older := &raft.InstallSnapshotRequest{Term: 2, SnapshotVersion: 1, LastLogIndex: 8, LastLogTerm: 2}
	for _, r := range []any{instead, older} {
		if err := b.checkRequest(r); err != nil {
			t.Errorf("%T: %v", r, err)
		}
	}
	instead.Term, older.Term = 3, 3
	for _, r := range []any{instead, older} {
		if err := b.checkRequest(r); err == nil {
			t.Errorf("%T in the present term passes", r)
		}
	}
}

// A leader refuses messages of a second leader in its term. Raft would step down for entries, and wait for all of a snapshot.
func TestSecondLeaderIsRefused(t *testing.T) {
	t.Parallel()
	heartbeat := &raft.AppendEntriesRequest{Term: 3}
	for _, c := range []struct {
		leads bool
		term  uint64
		takes bool
	}{{true, 3, false}, {true, 2, true}, {false, 3, true}} {
		if err := (Bounds{Leads: c.leads, Term: c.term}).checkRequest(heartbeat); (err == nil) != c.takes {
			t.Errorf("leads %t in term %d: %v", c.leads, c.term, err)
		}
	}
}

// A message that precedes entries contradicts too: raft would only answer that it has another entry.
func TestPreviousEntryIsCompared(t *testing.T) {
	t.Parallel()
	b := Bounds{Term: 3, Committed: 9, EntryAt: func(i uint64) (raft.Log, bool) { return raft.Log{Index: i, Term: 3}, i <= 12 }}
	for _, c := range []struct {
		prev, term uint64
		err        error
	}{{9, 3, nil}, {9, 2, ErrContradicts}, {10, 2, nil}, {0, 0, nil}} {
		err := b.checkRequest(&raft.AppendEntriesRequest{Term: 4, PrevLogEntry: c.prev, PrevLogTerm: c.term})
		if !errors.Is(err, c.err) {
			t.Errorf("entry %d of term %d: %v, want %v", c.prev, c.term, err, c.err)
		}
	}
	if err := b.checkRequest(&raft.InstallSnapshotRequest{Term: 4, SnapshotVersion: 1, LastLogIndex: 8, LastLogTerm: 3}); err == nil {
		t.Error("a snapshot in place of committed entries")
	}
}
