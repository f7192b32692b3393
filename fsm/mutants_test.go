//go:build mutants

package fsm

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/hashicorp/raft"

	"github.com/snowraft/snowraft/internal/mutant"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// A test that cannot fail shows nothing: here each planted bug must be caught, by the
// same walks and the same search that pass without it.

const mutantWalks = 400

// firstViolation takes random walks until one fails.
func firstViolation(walks uint64, a adversary) (seed uint64, err error) {
	for seed = 1; seed <= walks; seed++ {
		if err = walk(seed, a, walkSteps); err != nil {
			return seed, err
		}
	}
	return 0, nil
}

func TestPlantedBugsAreCaught(t *testing.T) {
	tick := modelEpoch
	defer func(before func() int64) { wallMillis = before }(wallMillis)
	wallMillis = func() int64 { tick += 7; return tick }

	for _, test := range []struct {
		bug    mutant.Bug
		search bool // the search catches it too; it has neither snapshots nor a second replica

		sequences bool // the search of sequences does; it has no ends of int64 and no request IDs
	}{
		{mutant.NoTokenCheck, true, false},
		{mutant.NoExtendCAS, true, false},
		{mutant.ReleaseTooLow, true, false},
		{mutant.ResetHighWater, true, false},
		{mutant.IgnoreHighWater, true, false},
		{mutant.WorkerOutOfRange, true, false},
		{mutant.SnapshotForgets, false, false},
		{mutant.NowInApply, false, false},
		{mutant.NoClockCheck, false, false}, // the search has the policy swap
		{mutant.BlockFromEnd, false, true},
		{mutant.PeriodBack, false, true},
		{mutant.SequenceOverflow, false, false},
		{mutant.ReturnAnyBlock, false, true},
		{mutant.NoRepeatCheck, false, true},
		{mutant.DeleteForgets, false, true},
		{mutant.AnswerForgotten, false, false},
		{mutant.ReturnAhead, false, false},
		{mutant.PeriodForgotten, false, false},
		{mutant.NoAdminCAS, false, false},
	} {
		t.Run(string(test.bug), func(t *testing.T) {
			defer mutant.Plant(test.bug)()
			seed, err := firstViolation(mutantWalks, adversary{})
			if err == nil {
				t.Errorf("not caught by %d walks", mutantWalks)
			}
			t.Logf("walk %d: %v", seed, err)
			if test.sequences {
				if _, err = exploreSequences(5); err == nil {
					t.Error("not caught by the search of sequences")
				}
				t.Log(err)
			}
			if !test.search {
				return
			}
			if _, err = explore(5, adversary{}); err == nil {
				t.Error("not caught by the search")
			}
			t.Log(err)
		})
	}
}

// TestPlantedBugsRepeatIDs looks at the IDs alone, with no audit of grants: these bugs
// are not only against the rules, they do harm.
func TestPlantedBugsRepeatIDs(t *testing.T) {
	for _, bug := range []mutant.Bug{mutant.ReleaseTooLow, mutant.ResetHighWater, mutant.IgnoreHighWater} {
		t.Run(string(bug), func(t *testing.T) {
			defer mutant.Plant(bug)()
			_, err := explore(6, adversary{idsOnly: true})
			if violatedWhat(err) != "duplicate" {
				t.Errorf("%v, expected a duplicate", err)
			}
			t.Log(err)
		})
	}
}

// TestPlantedBugsRepeatNumbers looks at the numbers that processes give out, and at
// nothing else.
func TestPlantedBugsRepeatNumbers(t *testing.T) {
	for _, bug := range []mutant.Bug{
		mutant.BlockFromEnd, mutant.PeriodBack, mutant.SequenceOverflow, mutant.ReturnAnyBlock, mutant.NoRepeatCheck,
	} {
		t.Run(string(bug), func(t *testing.T) {
			defer mutant.Plant(bug)()
			for seed := range uint64(10 * mutantWalks) {
				err := walk(seed, adversary{idsOnly: true}, walkSteps)
				if violatedWhat(err) == "duplicate" {
					t.Logf("walk %d: %v", seed, err)
					return
				} // else a snapshot with what the bug did was not restored
			}
			t.Error("no duplicate")
		})
	}
}

// TestTokenAndSwap: what the token check and the compare-and-swap of an extension are
// for. Without both, IDs repeat. Without one of them they do not, as long as the log
// holds each proposal at most once; only the audit of grants shows what is missing.
func TestTokenAndSwap(t *testing.T) {
	once := adversary{idsOnly: true, noRepeat: true, noForge: true}
	t.Run("both", func(t *testing.T) {
		defer mutant.Plant(mutant.NoTokenCheck, mutant.NoExtendCAS)()
		if _, err := firstViolation(2000, once); violatedWhat(err) != "duplicate" {
			t.Errorf("walks: %v, expected a duplicate", err)
		}
		_, err := explore(8, once)
		if violatedWhat(err) != "duplicate" {
			t.Errorf("search: %v, expected a duplicate", err)
		}
		t.Log(err)
	})
	for _, bug := range []mutant.Bug{mutant.NoTokenCheck, mutant.NoExtendCAS} {
		t.Run(string(bug), func(t *testing.T) {
			defer mutant.Plant(bug)()
			if seed, err := firstViolation(1000, once); err != nil {
				t.Errorf("walk %d: %v, expected IDs to stay unique", seed, err)
			}
			if _, err := explore(6, once); err != nil {
				t.Errorf("search: %v, expected IDs to stay unique", err)
			}
			if _, err := firstViolation(mutantWalks, adversary{noRepeat: true, noForge: true}); violatedWhat(err) != "owner" {
				t.Errorf("%v, expected a grant that is not its holder's", err)
			}
		})
	}
}

// TestTokenCheckAlone: once the log may hold a proposal twice, as a forwarded call can
// leave it, the compare-and-swap cannot stand for the token check. A release lowers an
// end, so that a later window can end where an earlier holder believes its own does.
func TestTokenCheckAlone(t *testing.T) {
	twice := adversary{idsOnly: true}
	defer mutant.Plant(mutant.NoTokenCheck)()
	_, err := explore(8, twice)
	if violatedWhat(err) != "duplicate" {
		t.Errorf("%v, expected a duplicate", err)
	}
	t.Log(err)
}

// TestReplayShowsPlantedBugs: a replica without the bug that applies the same log comes to another
// state, or answers otherwise. Nothing else is looked at, so that is enough to find those that repeat
// no ID by themselves.
func TestReplayShowsPlantedBugs(t *testing.T) {
	defer func(before func() int64) { wallMillis = before }(wallMillis)
	for _, bug := range []mutant.Bug{
		"", mutant.NoTokenCheck, mutant.NoExtendCAS, mutant.ReleaseTooLow, mutant.ResetHighWater, mutant.IgnoreHighWater,
		mutant.WorkerOutOfRange, mutant.NoClockCheck, mutant.NowInApply,
	} {
		t.Run("bug="+string(bug), func(t *testing.T) {
			tick := modelEpoch
			wallMillis = func() int64 { tick += 7; return tick }
			for seed := range uint64(mutantWalks) {
				undo := mutant.Plant(bug)
				w := newWorld(seeded{rand.New(rand.NewPCG(seed, 0))}, adversary{idsOnly: true, noRepeat: true, noForge: true}, 1)
				_ = w.run(walkSteps) // to the first ID that comes twice, if any does
				undo()
				if err := replay(w.log, bug); err != nil {
					if bug == "" {
						t.Fatalf("found %v, and there is nothing", err)
					}
					t.Logf("walk %d: %v", seed, err)
					return
				}
			}
			if bug != "" {
				t.Errorf("not found in %d walks", mutantWalks)
			}
		})
	}
}

// TestReplayShowsStaleClaims is the least that it takes: a holder that was away too long extends, and
// one that does not know of its own extension.
func TestReplayShowsStaleClaims(t *testing.T) {
	for _, test := range []struct {
		bug   mutant.Bug
		claim func(first, second Grant) *commandv1.Command
	}{
		{mutant.NoTokenCheck, func(first, second Grant) *commandv1.Command {
			first.Until = second.Until // by chance, and the second holder's
			return extend(first, nonce('a'), first.Until, 2000)
		}},
		{mutant.NoTokenCheck, func(first, second Grant) *commandv1.Command {
			first.Until = second.Until
			return release(first, nonce('a'), second.From+1)
		}},
		{mutant.NoExtendCAS, func(_, second Grant) *commandv1.Command {
			return extend(second, nonce('b'), second.Until-1, 2000)
		}},
	} {
		l := newLog(t)
		var entries []*raft.Log
		add := func(cmd *commandv1.Command) Grant {
			entries = append(entries, entryAt(t, uint64(len(entries)+1), cmd))
			return l.must(cmd).Grant
		}
		add(at(epoch, createLayout(tiny)))
		add(at(epoch, acquire("c/0", 60_000)))
		first, second := add(at(epoch, acquire("a/0", 1000))), add(at(epoch+1000, acquire("b/0", 1000)))
		if first.Worker != second.Worker {
			t.Fatalf("%+v and %+v are of two workers", first, second)
		}
		if err := replay(entries, test.bug); err != nil {
			t.Errorf("%s: %v before the claim", test.bug, err)
		}
		err := replay(append(entries, entryAt(t, 5, at(epoch+1500, test.claim(first, second)))), test.bug)
		if violatedWhat(err) != "results" {
			t.Errorf("%s: %v, expected another result", test.bug, err)
		}
		t.Log(err)
	}
}

// replay applies a log with and without a bug, and returns the first difference.
func replay(entries []*raft.Log, bug mutant.Bug) error {
	with, without := New(Options{}), New(Options{})
	apply := func(m *Machine, e *raft.Log, bugs ...mutant.Bug) (Result, [32]byte) {
		defer mutant.Plant(bugs...)()
		r := m.Apply(e).(Result)
		r.Layout, r.Config = nil, nil
		if r.Err != nil {
			r.Err = &Refused{Reason: r.Err.Reason}
		}
		var digest [32]byte
		m.View(func(s *State) { digest = s.Digest() })
		return r, digest
	}
	for _, e := range entries {
		r1, d1 := apply(with, e, bug)
		r2, d2 := apply(without, e)
		switch {
		case !reflect.DeepEqual(r1, r2): //nolint:govet // as in commit
			return violated("results", "index %d: %+v, and without the bug %+v", e.Index, r1, r2)
		case d1 != d2:
			return violated("digest", "the states differ after index %d", e.Index)
		}
	}
	return nil
}

func violatedWhat(err error) string {
	if v, ok := errors.AsType[violation](err); ok {
		return v.what
	}
	return ""
}
