// Package lincheck checks that what clients of a sequence saw is linearizable: that the numbers
// they got, and when, have one order that a single counter could have issued them in. It belongs to
// tests, and knows nothing of how numbers come about.
//
// Only answers are in a history. A call that failed may have used numbers up all the
// same, which leaves a gap, and gaps are allowed: so nothing need be known of it.
// Numbers ascend; those of a sequence that counts down are to be negated.
package lincheck

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Call is a call that was answered.
type Call struct {
	// By is the name of the member that answered, or of the caller, for messages and tests.
	By string
	// Began is before the request was sent, Ended after the answer was received, by
	// one and the same clock.
	Began, Ended time.Time
	// First and Last are the numbers that were issued: all from First to Last. Of
	// a Read, Last is the number that was said to be the last one issued, or 0 if it
	// was said that there is none, of a sequence that starts above 0.
	First, Last int64
	Read        bool
}

func (c Call) String() string {
	what := fmt.Sprintf("%d to %d", c.First, c.Last)
	if c.Read {
		what = fmt.Sprintf("the last number %d", c.Last)
	}
	const clock = "15:04:05.000000"
	return fmt.Sprintf("%s to %s: %s: %s", c.Began.Format(clock), c.Ended.Format(clock), c.By, what)
}

// History collects calls. The zero value is empty and ready; its methods may be
// called from any goroutine.
type History struct {
	mu    sync.Mutex
	calls []Call
}

// Add notes a call.
func (h *History) Add(c Call) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.calls = append(h.calls, c)
}

// Calls returns a copy of all calls so far, in no particular order.
func (h *History) Calls() []Call {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.calls)
}

// Numbers returns what was issued, in ascending order of the first numbers.
func Numbers(calls []Call) []Call {
	given := slices.DeleteFunc(slices.Clone(calls), func(c Call) bool { return c.Read })
	slices.SortFunc(given, func(a, b Call) int { return cmp.Compare(a.First, b.First) })
	return given
}

// CheckUnique fails if a number was issued twice. It takes O(n log n).
func CheckUnique(calls []Call) error {
	given := Numbers(calls)
	for i, c := range given {
		if c.Last < c.First {
			return fmt.Errorf("no numbers: %v", c)
		}
		if i > 0 && c.First <= given[i-1].Last {
			return fmt.Errorf("%d twice:\n%v\n%v", c.First, given[i-1], c)
		}
	}
	return nil
}

// CheckOrder fails if the calls did not happen one after the other, each at some
// moment between its beginning and its end, with ascending numbers: if a call that
// began after another one's end got a lower number, a number was issued twice, or a
// read got a number from inside a call, which is issued as a whole. It sees all
// calls at once, however far apart they are: that judges all pairs, as only the highest
// number that was answered before a call began counts for it. It takes O(n log n).
func CheckOrder(calls []Call) error {
	if err := CheckUnique(calls); err != nil {
		return err
	}
	if err := checkReads(calls); err != nil {
		return err
	}
	byBegin, byEnd := slices.Clone(calls), slices.Clone(calls)
	slices.SortFunc(byBegin, func(a, b Call) int { return a.Began.Compare(b.Began) })
	slices.SortFunc(byEnd, func(a, b Call) int { return a.Ended.Compare(b.Ended) })
	var highest *Call // of those that had ended
	done := 0
	for _, c := range byBegin {
		for ; done < len(byEnd) && byEnd[done].Ended.Before(c.Began); done++ {
			if highest == nil || byEnd[done].Last > highest.Last {
				highest = &byEnd[done]
			}
		}
		if highest == nil {
			continue
		}
		if c.Read && c.Last < highest.Last || !c.Read && c.First <= highest.Last {
			return fmt.Errorf("a number that is not above one that was answered before:\n%v\n%v", *highest, c)
		}
	}
	return nil
}

// checkReads fails if a read got a number of a call that is not its last one.
func checkReads(calls []Call) error {
	given := Numbers(calls)
	for _, c := range calls {
		if !c.Read {
			continue
		}
		i, _ := slices.BinarySearchFunc(given, c.Last, func(g Call, last int64) int { return cmp.Compare(g.Last, last) })
		if i < len(given) && given[i].First <= c.Last && c.Last < given[i].Last {
			return fmt.Errorf("a last number from inside a call:\n%v\n%v", given[i], c)
		}
	}
	return nil
}
