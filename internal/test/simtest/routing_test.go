package simtest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"

	"github.com/snowraft/snowraft/internal/member"
)

// A member whose replica does not show yet that a sequence became strict routes its callers' requests
// to the leader.
func TestLateReplicaRoutesStrictSequenceToLeader(t *testing.T) {
	t.Parallel()
	simulate(t, options{idle: true}, func(w *world) {
		ctx := w.Context()
		leads, late := w.leader().proc(), w.follower()
		if _, err := leads.member.CreateSequence(ctx, plain("s", relaxed), member.Force{}); err != nil {
			w.Fatal(err)
		}
		w.until(recovery, "all know the sequence", func() bool { _, ok := late.proc().member.State().Sequence("s"); return ok })
		w.net.part([]*node{late}, w.others(late), raftPlane)
		if err := leads.flip(ctx, "s", strict); err != nil {
			w.Fatal(err)
		}
		c, err := late.proc().member.Counter(ctx, "s")
		if err != nil || c.Strict() {
			w.Fatalf("Counter() = strict %v, %v; want a replica that is late", c.Strict(), err)
		}
		n, err := late.proc().issuing.Next(ctx, "s", 3, "")
		if err != nil || n.Count != 3 {
			w.Errorf("Next() = %+v, %v; want 3 numbers", n, err)
		}
		last, ok, err := leads.issuing.Last(ctx, "s")
		if err != nil || !ok || last != n.Number(2) {
			w.Errorf("Last() at the leader = %d, %v, %v; want %d", last, ok, err, n.Number(2))
		}
	})
}

// flip changes the mode of a sequence. p must lead.
func (p *process) flip(ctx context.Context, name string, mode commandv1.SequenceMode) error {
	_, err := p.member.UpdateSequence(ctx, name, member.Update{Edit: func(spec *commandv1.SequenceSpec) error {
		spec.Mode = mode
		return nil
	}})
	return err
}

// The leader refuses no call because a sequence became strict between the check of its mode and the
// request for a block.
func TestLeaderLooksAgainWhenSequenceBecomesStrict(t *testing.T) {
	t.Parallel()
	simulate(t, options{idle: true}, func(w *world) {
		ctx := w.Context()
		p := w.leader().proc()
		if _, err := p.member.CreateSequence(ctx, plain("s", relaxed), member.Force{}); err != nil {
			w.Fatal(err)
		}
		for range 100 {
			var flips, asks sync.WaitGroup
			flips.Go(func() {
				if err := p.flip(ctx, "s", strict); err != nil {
					w.Error(err)
				}
			})
			for range 5 {
				asks.Go(func() {
					if _, err := p.member.NextAtLeader(ctx, "s", 1000, ""); errors.Is(err, member.ErrStrict) {
						w.Errorf("NextAtLeader() = %v", err)
					}
				})
			}
			flips.Wait()
			asks.Wait()
			if err := p.flip(ctx, "s", relaxed); err != nil {
				w.Error(err)
			}
		}
	})
}

// The next leader answers a call that came while no member led.
func TestCallsWaitForNextLeader(t *testing.T) {
	t.Parallel()
	simulate(t, options{idle: true}, func(w *world) {
		ctx := w.Context()
		if _, err := w.leader().proc().member.CreateSequence(ctx, plain("s", strict), member.Force{}); err != nil {
			w.Fatal(err)
		}
		asks := w.follower().proc()
		w.until(recovery, "all know the sequence", func() bool { _, ok := asks.member.State().Sequence("s"); return ok })
		w.leader().crash()
		var last int64
		for _, id := range []string{"", "request"} {
			began := time.Now()
			n, err := asks.issuing.Next(admitted(ctx, "s"), "s", 1, id)
			if err != nil || n.First <= last {
				w.Errorf("Next(%q) = %+v, %v after %v; want a number above %d", id, n, err, time.Since(began), last)
			}
			last = n.First
		}
	})
}

// The host of the leader vanishes: no connection closes, and no answer comes. Members issue again within the time of an election:
// numbers of strict sequences, numbers of relaxed ones after those in memory, and IDs. A second election doubles that time.
func TestVanishedLeaderDelaysAllAlike(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"strict", "relaxed", "ids"} {
		t.Run(kind, func(t *testing.T) {
			simulate(t, options{idle: true}, func(w *world) {
				ctx := member.WithActor(w.Context(), anyone)
				for name, mode := range map[string]commandv1.SequenceMode{"strict": strict, "relaxed": relaxed} {
					if _, err := w.leader().proc().member.CreateSequence(w.Context(), plain(name, mode), member.Force{}); err != nil {
						w.Fatal(err)
					}
				}
				leader, asks := w.leader(), w.follower().proc()
				issue := map[string]func() error{
					"strict":  func() error { _, err := asks.issuing.Next(ctx, "strict", 1, ""); return err },
					"relaxed": func() error { _, err := asks.issuing.Next(ctx, "relaxed", 1000, ""); return err },
					"ids":     func() error { return asks.issue(1, 0) },
				}[kind]
				w.until(recovery, "the member issues", func() bool { return issue() == nil })
				w.net.part([]*node{leader}, w.nodes, allPlanes...)
				longest := time.Duration(0)
				for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
					began := time.Now()
					err := issue()
					longest = max(longest, time.Since(began))
					if err != nil {
						w.Errorf("%s after %v: %v", kind, time.Since(began), err)
					}
				}
				w.Logf("%s: the longest call took %v", kind, longest)
				if most := 2500 * time.Millisecond; longest > most {
					w.Errorf("%s: a call took %v, want at most %v", kind, longest, most)
				}
			})
		})
	}
}
