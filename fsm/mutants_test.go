//go:build mutants

package fsm

import (
	"errors"
	"testing"

	"github.com/snowraft/snowraft/internal/mutant"
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

func violatedWhat(err error) string {
	if v, ok := errors.AsType[violation](err); ok {
		return v.what
	}
	return ""
}
