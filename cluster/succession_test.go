package cluster

import (
	"errors"
	"io"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/snowraft/snowraft/cluster/peer"
)

// If a voter supported two candidates in one term, both could call an election.
func TestVoterSpeaksForOneCandidateInATerm(t *testing.T) {
	t.Parallel()
	var s succession
	for i, step := range []struct {
		term      uint64
		candidate string
		want      bool
	}{
		{5, "a", true}, {5, "a", true}, {5, "b", false}, {4, "b", false}, {6, "b", true}, {6, "a", false}, {5, "a", false},
	} {
		if got := s.promise(step.term, step.candidate); got != step.want {
			t.Errorf("%d: promise(%d, %s) = %v, want %v", i, step.term, step.candidate, got, step.want)
		}
	}
	s.withdraw(5)
	if s.promise(6, "a") {
		t.Error("the withdrawal of an earlier term counted")
	}
	s.withdraw(6)
	if !s.promise(6, "a") {
		t.Error("a withdrawn promise stayed")
	}
}

func TestLinksOfProcesses(t *testing.T) {
	t.Parallel()
	var l links
	old, now := origin{"a", "1"}, origin{"a", "2"}
	moved := l.moved.Next()
	first := l.add(old, "")
	<-moved
	second := l.add(old, "")
	other := l.add(now, "")
	if l.process("a") != "2" || l.process("b") != "" {
		t.Errorf("the newest links are of %q and %q", l.process("a"), l.process("b"))
	}
	moved = l.moved.Next()
	first()
	first()
	select {
	case <-moved:
		t.Error("one of two links was closed, twice, and counted as the last one")
	default:
	}
	if !l.has(old) {
		t.Error("one link is left")
	}
	second()
	<-moved
	if l.has(old) || !l.has(now) || l.process("a") != "2" {
		t.Error("the links of one process were closed, and not those of the other")
	}
	other()
	if len(l.open) > 0 {
		t.Errorf("%d processes are remembered", len(l.open))
	}
}

func TestLinkOfMissedProcess(t *testing.T) {
	t.Parallel()
	var l links
	leader, other := origin{"a", "1"}, origin{"a", "2"}
	first := l.add(leader, "")
	mark := l.miss(leader)
	if l.away(leader, mark) {
		t.Error("a process with a link counts as away")
	}
	first()
	l.add(other, "")()
	if !l.away(leader, mark) || l.away(other, mark) {
		t.Error("the process without a link is not the one that is away")
	}
	l.add(leader, "")()
	if l.away(leader, mark) {
		t.Error("a process that returned meanwhile counts as away")
	}
	if mark = l.miss(leader); !l.away(leader, mark) {
		t.Error("a process that is missed again does not count as away")
	}
	l.miss(other)
	if l.away(leader, mark) {
		t.Error("a process that is no longer missed counts as away")
	}
}

// brittle is a transport whose pool holds broken connections.
type brittle struct {
	*raft.InmemTransport
	errors []error
	calls  int
}

func (b *brittle) AppendEntries(_ raft.ServerID, _ raft.ServerAddress, _ *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse) error {
	b.calls++
	resp.Term = 1
	if b.calls <= len(b.errors) {
		return b.errors[b.calls-1]
	}
	return nil
}

func TestLeaderTriesPastBrokenConnections(t *testing.T) {
	t.Parallel()
	ready := make(chan struct{})
	close(ready)
	for _, c := range []struct {
		errors []error
		calls  int
		fails  bool
	}{
		{calls: 1},
		{errors: []error{io.EOF, syscall.EPIPE, syscall.ECONNRESET}, calls: 4},
		{errors: []error{io.EOF, io.EOF, io.EOF, io.EOF, io.EOF}, calls: 1 + transportPool, fails: true},
		{errors: []error{syscall.ECONNREFUSED}, calls: 1, fails: true},
	} {
		_, inner := raft.NewInmemTransport("a")
		b := &brittle{InmemTransport: inner, errors: c.errors}
		g := newGuarded(b, ready, func() bounds { return bounds{wall: 1} },
			func(raft.ServerID, *raft.AppendEntriesRequest, *raft.AppendEntriesResponse) {}, func(any) {}, func(error) {})
		err := g.AppendEntries("b", "b", &raft.AppendEntriesRequest{}, new(raft.AppendEntriesResponse))
		if b.calls != c.calls || (err != nil) != c.fails {
			t.Errorf("after %v: %d calls and %v, want %d", c.errors, b.calls, err, c.calls)
		}
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A leader's request on a connection that the other side closed arrives on a new connection.
func TestLeaderOpensConnectionsAgainAtOnce(t *testing.T) {
	t.Parallel()
	for name, keys := range map[string][]int{"open": nil, "secured": {0}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, b := layer(t, keyed(t, keys...)), layer(t, keyed(t, keys...))
			box := newMiddlebox(t, b.listener.Addr().String())
			var ends [2]*raft.NetworkTransport
			for i, l := range []layered{a, b} {
				go func() {
					for range l.verified {
					}
				}()
				ends[i] = raft.NewNetworkTransportWithConfig(&raft.NetworkTransportConfig{Stream: l.streamLayer, MaxPool: transportPool, Timeout: patience})
				t.Cleanup(func() { _ = ends[i].Close() })
			}
			go func() {
				for rpc := range ends[1].Consumer() {
					rpc.Respond(&raft.AppendEntriesResponse{Term: 1, Success: true}, nil)
				}
			}()
			ready := make(chan struct{})
			close(ready)
			g := newGuarded(ends[0], ready, func() bounds { return bounds{wall: 1} },
				func(raft.ServerID, *raft.AppendEntriesRequest, *raft.AppendEntriesResponse) {}, func(any) {}, func(error) {})
			t.Cleanup(func() { _ = g.Close() })
			from := origin{a.self.ID, a.self.Process}
			for round := range 5 {
				request := &raft.AppendEntriesRequest{RPCHeader: head(), Term: 1}
				var resp raft.AppendEntriesResponse
				err := g.AppendEntries(raft.ServerID(b.self.ID), peer.RaftAddress(b.self.ID, box.address), request, &resp)
				if err != nil || !resp.Success {
					t.Fatalf("round %d: %+v, %v", round, resp, err)
				}
				if !b.links.has(from) {
					t.Error("the acceptor counts no link")
				}
				gone := b.links.moved.Next()
				box.reset()
				select {
				case <-gone:
				case <-time.After(patience):
					t.Fatal("the acceptor does not notice that its link broke")
				}
			}
		})
	}
}

// calledBy counts the elections that these hosts won without a timeout or a transfer.
func calledBy(hosts []*host) (count uint64) {
	for _, h := range hosts {
		count += h.ElectionsWon()[ElectionRefused]
	}
	return count
}

// untilFollowed waits until all hosts have followed one leader long enough to replace it without a timeout.
func untilFollowed(t *testing.T, hosts []*host) (leader *host, followers []*host) {
	t.Helper()
	leader = leaderOf(t, hosts)
	for _, h := range hosts {
		if h != leader {
			followers = append(followers, h)
		}
	}
	eventually(t, "the leader is followed", func() bool {
		return !slices.ContainsFunc(followers, func(h *host) bool {
			return h.Term() != leader.Term() || !h.links.has(origin{leader.ID(), leader.Process()})
		})
	})
	<-time.After(leader.cfg.Timing.Heartbeat + 500*time.Millisecond)
	return leader, followers
}

// Over real connections, a middlebox that resets connections and refuses new ones to the leader does not depose the leader.
func TestLeaderBehindMiddleboxIsKept(t *testing.T) {
	t.Parallel()
	for name, numbers := range map[string][]int{"open": nil, "secured": {0}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hosts := trioBehind(t, newMiddlebox, numbers...)
			leader, _ := untilFollowed(t, hosts)
			for _, refuse := range []bool{false, true} {
				if refuse {
					leader.box.refuse()
				}
				for _, h := range hosts {
					h.box.reset()
				}
				<-time.After(leader.cfg.Timing.Heartbeat / 2)
				leader.box.accept(t)
			}
			if n := calledBy(hosts); n > 0 {
				t.Errorf("%d elections were called against a leader that lives", n)
			}
		})
	}
}

func TestEndedLeaderIsReplacedWithoutTimeout(t *testing.T) {
	t.Parallel()
	for name, numbers := range map[string][]int{"open": nil, "secured": {0}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hosts := trio(t, numbers...)
			leader, followers := untilFollowed(t, hosts)
			leader.Fail(errors.New("stopped by the test")) // a failed leader transfers no leadership
			if err := leader.Close(t.Context()); err != nil {
				t.Error(err)
			}
			next := leaderOf(t, followers)
			if calledBy(followers) != 1 || next.log.lines("calling an election") != 1 {
				t.Errorf("%d elections were called, want one; the new leader logs %d calls", calledBy(followers), next.log.lines("calling an election"))
			}
		})
	}
}
