package simtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowraft/snowraft/allocator"
	"github.com/snowraft/snowraft/cluster"
	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/internal/clock"
	"github.com/snowraft/snowraft/internal/member"
	"github.com/snowraft/snowraft/internal/test/depth"
)

func TestTransfersUnderLoad(t *testing.T) {
	t.Parallel()
	simulate(t, options{maxWindow: 2 * time.Second, sequences: ofAllKinds()}, func(w *world) {
		w.pass(10 * time.Second)
		moved, transfers := 0, depth.Of(45, 150)
		for range transfers {
			from := w.leader()
			to := w.nodes[w.rng.IntN(len(w.nodes))]
			ctx, cancel := context.WithTimeout(w.Context(), 5*time.Second)
			leader, err := from.proc().member.Node().TransferLeadership(ctx, to.name)
			cancel()
			if err == nil && leader.Name != to.name {
				t.Errorf("%s leads, want %s", leader.Name, to.name)
			}
			if err == nil && to != from {
				moved++
			}
			undisturbed(w.nodes, w.between(0, 2*time.Second))
		}
		t.Logf("leadership moved %d times", moved)
		if moved < transfers/3 {
			t.Errorf("leadership moved %d times, want at least %d", moved, transfers/3)
		}
	})
}

// ask is a holder's only request, which is for a worker, and the answer.
type ask struct {
	holder string
	grant  allocator.Grant
	err    error
}

func (w *world) acquire(n *node, holder string, limit time.Duration) ask {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	r := allocator.AcquireRequest{
		Layout: w.layout.Name, Holder: holder, NowMillis: time.Now().UnixMilli(), Window: time.Second,
	}
	copy(r.Nonce[:], holder)
	a := ask{holder: holder}
	p := n.proc()
	if p == nil {
		a.err = cluster.ErrNotLeader
		return a
	}
	a.grant, a.err = p.member.AcquireWorker(ctx, r)
	return a
}

// hasGrant reports whether a holder has one of the workers' last grants.
func hasGrant(s *fsm.State, layout, holder string) bool {
	return slices.ContainsFunc(s.Workers(layout, 0, 1<<20), func(r fsm.WorkerRecord) bool { return r.Holder == holder })
}

func TestStaleLeaderCannotGrant(t *testing.T) {
	t.Parallel()
	simulate(t, options{}, func(w *world) {
		for i := range 20 {
			w.pass(w.between(time.Second, 5*time.Second))
			stale := w.leader()
			term := stale.proc().member.Node().LeadingTerm()
			w.net.part([]*node{stale}, w.others(stale), raftPlane)
			w.pass(w.between(0, 500*time.Millisecond)) // the stale leader may not have noticed yet
			if err := stale.proc().member.Node().Verify(w.Context(), term); err == nil {
				t.Error("Verify() confirmed an isolated leader")
			}
			a := w.acquire(stale, fmt.Sprintf("stale-%d", i), 3*time.Second)
			if a.err == nil {
				t.Fatalf("an isolated leader granted %+v", a.grant)
			}
			w.net.heal()
			w.untilAllIssue(recovery)
			w.leader().proc().member.State().View(func(s *fsm.State) {
				if hasGrant(s, w.layout.Name, a.holder) {
					t.Errorf("the state has a grant that an isolated leader refused with %v", a.err)
				}
			})
		}
	})
}

// A replaced leader that does not know of its successor still has numbers of a strict sequence in memory.
// The lease alone does not prevent it from issuing them, because a transfer waits for no lease.
func TestStaleLeaderGivesNoNumbers(t *testing.T) {
	t.Parallel()
	simulate(t, options{idle: true, quick: true, sequences: []rules{{spec: plain("s", strict)}}}, func(w *world) {
		w.staleLeaders(10)
	})
}

// staleLeaders makes leaders transfer leadership without learning that another member has taken it.
func (w *world) staleLeaders(rounds int) {
	w.Helper()
	var refused atomic.Int64
	for range rounds {
		stale := w.leader()
		others := w.others(stale)
		for range 5 { // fills its memory with numbers
			_ = stale.proc().askOne("s")
		}
		w.net.block(others, []*node{stale}, raftPlane)
		go func() { _, _ = stale.proc().member.Node().TransferLeadership(w.Context(), others[0].name) }()
		for end := time.Now().Add(350 * time.Millisecond); time.Now().Before(end); w.pass(5 * time.Millisecond) {
			if !stale.proc().member.Node().IsLeader() || !others[0].proc().member.Node().IsLeader() {
				continue
			}
			_ = others[0].proc().askOne("s")
			go func() {
				if stale.proc().askOne("s") != nil {
					refused.Add(1)
				}
			}()
		}
		w.net.heal()
		w.untilAllIssue(recovery)
		// While raft waits for a lost answer, all transfers to that member fail.
		w.pass(transportTimeout + time.Second)
		w.until(recovery, "the stale leader leads again", func() bool { // resumes after the numbers of other leaders
			if l := w.leader(); l != stale {
				_, _ = l.proc().member.Node().TransferLeadership(w.Context(), stale.name)
			}
			return stale.proc().askOne("s") == nil
		})
	}
	w.Logf("replaced leaders refused %d requests", refused.Load())
	if refused.Load() < int64(rounds) {
		w.Errorf("replaced leaders refused %d requests, want at least %d", refused.Load(), rounds)
	}
}

// A new leader may not have applied all commands that earlier leaders committed, and must not
// answer from such a state.
func TestFreshLeadersKnowTheLastNumber(t *testing.T) {
	t.Parallel()
	simulate(t, options{idle: true, sequences: []rules{{spec: plain("s", strict)}}}, func(w *world) {
		w.freshLeaders(20)
	})
}

// freshLeaders requests the last number from leaders at the moment in which they acquire leadership.
func (w *world) freshLeaders(rounds int) {
	w.Helper()
	answered := 0
	s := w.numbers.of("s")
	for i := range rounds {
		from := w.leader()
		to := w.others(from)[0]
		r := s.open(fmt.Sprint("request-", i), 10) // the last request that goes through the log
		w.until(recovery, "the leader issues more numbers than it had in memory", func() bool {
			n, err := from.proc().member.NextAtLeader(member.WithActor(w.Context(), anyone), "s", r.count, r.id)
			if err == nil {
				s.answered(from.name, r, n)
			}
			return err == nil
		})
		go func() { _, _ = from.proc().member.Node().TransferLeadership(w.Context(), to.name) }()
		for end := time.Now().Add(time.Second); time.Now().Before(end); w.pass(500 * time.Microsecond) {
			a := s.ask(position{})
			last, ok, err := to.proc().member.LastAtLeader(w.Context(), "s")
			if err != nil {
				continue
			}
			s.learned(to.name, a, last, ok)
			answered++
			break
		}
		w.untilAllIssue(recovery)
	}
	w.Logf("%d of %d leaders answered", answered, rounds)
	if answered < rounds/2 {
		w.Errorf("%d of %d leaders answered, want at least half", answered, rounds)
	}
}

// The error of a proposal must be correct: nothing was appended, or the outcome is unknown.
func TestOutcomesUnderPartitions(t *testing.T) {
	t.Parallel()
	simulate(t, options{}, func(w *world) {
		var mu sync.Mutex
		var asks []ask
		var running sync.WaitGroup
		stop := make(chan struct{})
		for _, n := range w.nodes {
			running.Go(func() {
				for i := 0; ; i++ {
					select {
					case <-stop:
						return
					case <-time.After(time.Duration(100+7*n.number) * time.Millisecond):
					}
					running.Go(func() {
						a := w.acquire(n, fmt.Sprintf("%s-%d", n.name, i), 2*time.Second)
						if !errors.Is(a.err, cluster.ErrNotLeader) || i%20 == 0 { // 1 in 20 of the followers' refusals is enough
							mu.Lock()
							asks = append(asks, a)
							mu.Unlock()
						}
					})
				}
			})
		}
		for range 40 {
			l := w.leader()
			switch others := w.others(l); w.rng.IntN(4) {
			case 0: // entries arrive, the followers' answers do not
				w.net.block(others, []*node{l}, raftPlane)
			case 1:
				w.net.block([]*node{l}, others, raftPlane)
			case 2:
				w.net.part([]*node{l}, others, raftPlane)
			case 3:
				l.proc().member.Node().TransferLeadership(w.Context(), "")
			}
			w.pass(w.between(100*time.Millisecond, 3*time.Second))
			w.net.heal()
			w.untilAllIssue(recovery)
		}
		close(stop)
		running.Wait()
		w.judge(asks)
	})
}

// judge compares the answers to requests with the grants.
func (w *world) judge(asks []ask) {
	w.Helper()
	granted := make(map[string]fsm.WorkerRecord)
	all := 0
	w.agreed().View(func(s *fsm.State) {
		for _, r := range s.Workers(w.layout.Name, 0, 1<<20) {
			granted[r.Holder] = r
			all++
		}
	})
	var yes, no, committed, lost int
	for _, a := range asks {
		r, is := granted[a.holder]
		var skew *clock.SkewError
		switch {
		case a.err == nil:
			yes++
			if !is || r.Token != a.grant.Token {
				w.Errorf("%s got %+v, the state has %+v", a.holder, a.grant, r)
			}
		case errors.Is(a.err, cluster.ErrNotLeader), errors.Is(a.err, cluster.ErrClosed), errors.As(a.err, &skew):
			no++
			if is {
				w.Errorf("%s was refused with %v, the state has %+v", a.holder, a.err, r)
			}
		case errors.Is(a.err, cluster.ErrUnknownOutcome):
			if is {
				committed++
			} else {
				lost++
			}
		default:
			w.Errorf("%s got an unexpected error: %v", a.holder, a.err)
		}
	}
	w.Logf("granted %d, refused %d, unknown and committed %d, unknown and lost %d, workers used %d", yes, no, committed, lost, all)
	if yes == 0 || no == 0 || committed == 0 || lost == 0 {
		w.Error("an outcome did not occur")
	}
}

// TestReplicasAreComparedSoonAfterAnElection replaces leaders before the
// next regular comparison.
func TestReplicasAreComparedSoonAfterAnElection(t *testing.T) {
	t.Parallel()
	simulate(t, options{}, func(w *world) {
		var before uint64
		for range 5 {
			w.pass(10 * time.Second)
			leader := w.leader()
			var index uint64
			leader.proc().member.State().View(func(s *fsm.State) { index, _ = s.LastCheckpoint() })
			if index <= before {
				t.Errorf("no comparison after index %d", before)
			}
			before = index
			leader.crash()
			w.pass(5 * time.Second)
			leader.start()
		}
	})
}

// The error of a failed transfer reports whether leadership may still change.
func TestFailedTransferErrors(t *testing.T) {
	t.Parallel()
	simulate(t, options{members: 5, idle: true}, func(w *world) {
		leader := w.leader()
		transfer := func(to string) error {
			ctx, cancel := context.WithTimeout(w.Context(), 5*time.Second)
			defer cancel()
			_, err := leader.proc().member.Node().TransferLeadership(ctx, to)
			return err
		}
		deaf := w.others(leader)[0]
		w.net.block([]*node{leader}, []*node{deaf}, raftPlane)
		began := make(chan error)
		go func() { began <- transfer(deaf.name) }()
		w.pass(50 * time.Millisecond)
		if err := transfer(w.others(leader)[1].name); !errors.Is(err, cluster.ErrNotLeader) {
			t.Errorf("transfer during another one = %v, want an ErrNotLeader", err)
		}
		if err := <-began; !errors.Is(err, cluster.ErrUnknownOutcome) {
			t.Errorf("transfer to an unreachable member = %v, want an ErrUnknownOutcome", err)
		}
		w.net.heal()
		w.untilAllIssue(recovery)
		w.pass(transportTimeout + time.Second) // see staleLeaders

		leader = w.leader()
		dead := w.others(leader)[0]
		dead.crash()
		w.until(recovery, "a member is known to be down", func() bool {
			return slices.ContainsFunc(leader.proc().member.Node().Members(), func(m cluster.Member) bool { return !m.Alive })
		})
		if err := transfer(dead.name); !errors.Is(err, cluster.ErrNotAlive) {
			t.Errorf("transfer to a stopped member = %v, want an ErrNotAlive", err)
		}
	})
}
