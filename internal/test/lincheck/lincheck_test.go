package lincheck_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/snowraft/snowraft/internal/test/lincheck"
)

func at(millis int) time.Time { return time.UnixMilli(int64(millis)) }

func next(began, ended int, first, last int64) lincheck.Call {
	return lincheck.Call{By: "a", Began: at(began), Ended: at(ended), First: first, Last: last}
}

func read(began, ended int, last int64) lincheck.Call {
	return lincheck.Call{By: "a", Began: at(began), Ended: at(ended), Last: last, Read: true}
}

// checkers holds the two checkers of the same property.
var checkers = map[string]func([]lincheck.Call) error{
	"order":  lincheck.CheckOrder,
	"linear": func(calls []lincheck.Call) error { return lincheck.CheckLinear(calls, 1000, time.Minute) },
}

func TestPlantedViolations(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		bad  bool
		more []lincheck.Call // calls besides 1 to 3, 4 and 10 to 19, of which the last two overlap
	}{
		{"nothing more", false, nil},
		{"a gap", false, []lincheck.Call{next(70, 80, 100, 100)}},
		{"at the same time as the last one", false, []lincheck.Call{next(60, 80, 5, 5)}},
		{"ends as the last one does", false, []lincheck.Call{next(35, 60, 9, 9)}},
		{"read at the end", false, []lincheck.Call{read(70, 80, 19)}},
		{"reads of lost numbers", false, []lincheck.Call{read(70, 80, 25), read(81, 82, 25), next(83, 84, 26, 26)}},
		{"read during the last one", false, []lincheck.Call{read(45, 60, 4), read(46, 70, 19), read(45, 60, 7)}},
		{"read of a number before its call has ended", false, []lincheck.Call{read(31, 32, 19), read(35, 36, 19)}},
		{"a number twice", true, []lincheck.Call{next(70, 80, 19, 20)}},
		{"a number twice at the same time", true, []lincheck.Call{next(20, 60, 4, 4)}},
		{"inside another", true, []lincheck.Call{next(20, 60, 12, 13)}},
		{"around others", true, []lincheck.Call{next(0, 90, 0, 100)}},
		{"below the last one", true, []lincheck.Call{next(70, 80, 5, 5)}},
		{"below all", true, []lincheck.Call{next(70, 80, -7, 0)}},
		{"below one of two", true, []lincheck.Call{next(51, 58, 0, 0)}},
		{"an old last number", true, []lincheck.Call{read(70, 80, 4)}},
		{"the middle of what was issued", true, []lincheck.Call{read(70, 80, 15)}},
		{"the middle of what is being issued", true, []lincheck.Call{read(45, 60, 15)}},
		{"the first of what is being issued", true, []lincheck.Call{read(45, 60, 10)}},
		{"the middle of what is issued at the same time, of one call of many", true, []lincheck.Call{next(65, 90, 40, 44), next(65, 90, 21, 25), read(70, 80, 23)}},
		{"a last number not at or below a later number", true, []lincheck.Call{read(11, 12, 4)}},
		{"last numbers that descend", true, []lincheck.Call{read(70, 71, 30), read(72, 73, 29)}},
		{"a number that was said to be issued", true, []lincheck.Call{read(70, 71, 30), next(72, 73, 30, 30)}},
	} {
		calls := append([]lincheck.Call{next(0, 10, 1, 3), next(20, 50, 4, 4), next(30, 60, 10, 19)}, tc.more...)
		for name, check := range checkers {
			for range 5 {
				rand.Shuffle(len(calls), func(i, j int) { calls[i], calls[j] = calls[j], calls[i] })
				if err := check(calls); (err != nil) != tc.bad {
					t.Fatalf("%s, %s: %v", tc.name, name, err)
				}
			}
		}
	}
	if err := lincheck.CheckUnique([]lincheck.Call{next(0, 1, 5, 4)}); err == nil {
		t.Error("a call without numbers was accepted")
	}
	if err := lincheck.CheckUnique([]lincheck.Call{next(0, 1, 5, 6), read(0, 1, 6), next(0, 1, 1, 4)}); err != nil {
		t.Error(err)
	}
}

// sound returns a history of many clients of a counter that skips some numbers.
func sound(r *rand.Rand, calls int) []lincheck.Call {
	var all []lincheck.Call
	number, now := int64(0), 0
	for range calls {
		now += 1 + r.IntN(10)
		c := lincheck.Call{By: "a", Began: at(now - r.IntN(300)), Ended: at(now + r.IntN(300)), Last: number, Read: r.IntN(5) == 0}
		if !c.Read {
			c.First = number + 1 + r.Int64N(3)
			c.Last = c.First + r.Int64N(5)
			number = c.Last
		}
		all = append(all, c)
	}
	return all
}

// TestBothCheckersAgree checks random histories with both checkers, also after an exchange of two
// numbers, which may make a history unsound.
func TestBothCheckersAgree(t *testing.T) {
	t.Parallel()
	unsound := 0
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 0))
		calls := sound(r, 200)
		exchanged := slices.Clone(calls)
		i, j := r.IntN(len(calls)), r.IntN(len(calls))
		exchanged[i].First, exchanged[j].First = calls[j].First, calls[i].First
		exchanged[i].Last, exchanged[j].Last = calls[j].Last, calls[i].Last
		exchanged[i].Read, exchanged[j].Read = calls[j].Read, calls[i].Read
		for name, check := range checkers {
			if err := check(calls); err != nil {
				t.Errorf("seed %d, %s: %v", seed, name, err)
			}
		}
		order, linear := checkers["order"](exchanged), checkers["linear"](exchanged)
		if (order == nil) != (linear == nil) {
			t.Errorf("seed %d, %d and %d exchanged: %v and %v", seed, i, j, order, linear)
		}
		if order != nil {
			unsound++
		}
	}
	if unsound < 20 || unsound > 99 {
		t.Errorf("%d of the exchanged histories are unsound", unsound)
	}
}

// TestSlices checks a history with a violation in the last slice.
func TestSlices(t *testing.T) {
	t.Parallel()
	calls := sound(rand.New(rand.NewPCG(1, 1)), 10_000)
	if err := lincheck.CheckLinear(calls, 3000, time.Minute); err != nil {
		t.Error(err)
	}
	last := calls[len(calls)-1].Last
	calls = append(calls, next(10_000_000, 10_000_001, last, last))
	if err := lincheck.CheckLinear(calls, 3000, time.Minute); err == nil {
		t.Error("the violation was not found")
	}
}

// TestSlicesStartAnew checks a history with a violation between two slices: only a check of all
// calls at once finds it.
func TestSlicesStartAnew(t *testing.T) {
	t.Parallel()
	calls := []lincheck.Call{next(0, 1, 1, 5), next(2, 3, 6, 6), next(4, 5, 1, 5), next(6, 7, 6, 6)}
	if err := lincheck.CheckLinear(calls, 2, time.Minute); err != nil {
		t.Error(err)
	}
	if lincheck.CheckOrder(calls) == nil || lincheck.CheckLinear(calls, 4, time.Minute) == nil {
		t.Error("the violation was not found")
	}
}

func TestDraw(t *testing.T) {
	t.Parallel()
	calls := sound(rand.New(rand.NewPCG(1, 1)), 100)
	for what, calls := range map[string][]lincheck.Call{"sound": calls, "unsound": append(calls, calls[50])} {
		var page strings.Builder
		if err := lincheck.Draw(&page, calls, time.Minute); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if !strings.Contains(page.String(), "<html") || !strings.Contains(page.String(), calls[99].String()) {
			t.Errorf("%s: %.200s", what, page.String())
		}
	}
}

func TestUndecided(t *testing.T) {
	t.Parallel()
	calls := sound(rand.New(rand.NewPCG(1, 1)), 2000)
	if err := lincheck.CheckLinear(calls, len(calls), 1); !errors.Is(err, lincheck.ErrUndecided) {
		t.Errorf("within a nanosecond: %v", err)
	}
}

func TestHistory(t *testing.T) {
	t.Parallel()
	var h lincheck.History
	h.Add(next(3, 4, 7, 9))
	h.Add(read(5, 6, 9))
	h.Add(next(1, 2, 1, 6))
	calls := h.Calls()
	if given := lincheck.Numbers(calls); len(calls) != 3 || len(given) != 2 || given[0].First != 1 || given[1].First != 7 {
		t.Errorf("%v, of which %v", calls, given)
	}
	if text := fmt.Sprint(calls[:2]); len(text) == 0 {
		t.Error("calls print nothing")
	}
}
