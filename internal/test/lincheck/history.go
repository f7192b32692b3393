// Package lincheck checks that the answers to clients of a sequence are linearizable: that a single counter
// could have issued the numbers in some order, each during its call. Only tests use the
// package. It does not depend on the implementation of sequences.
//
// A history contains only answered calls. A failed call may have used numbers,
// which leaves a gap. Gaps are allowed, so a history need not contain failed calls.
// Numbers ascend; negate the numbers of a sequence that counts down.
//
// [CheckOrder] decides whether a [History] is linearizable. [CheckLinear] decides the same with porcupine,
// as a check of the checker.
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
	// Began is a time before the request was sent, Ended a time after the answer was received, both
	// on the same clock.
	Began, Ended time.Time
	// The call issued all numbers from First to Last. For a Read, Last is the number that
	// the answer names as the last one issued. It is 0 if the answer names none, from
	// a sequence that starts above 0.
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

// History collects calls. The zero value is an empty history. Its methods are safe for
// concurrent use.
type History struct {
	mu    sync.Mutex
	calls []Call
}

// Add adds a call.
func (h *History) Add(c Call) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.calls = append(h.calls, c)
}

// Calls returns a copy of all calls so far, in unspecified order.
func (h *History) Calls() []Call {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.calls)
}

// Numbers returns the calls that issued numbers, in ascending order of the first numbers.
func Numbers(calls []Call) []Call {
	given := slices.DeleteFunc(slices.Clone(calls), func(c Call) bool { return c.Read })
	slices.SortFunc(given, func(a, b Call) int { return cmp.Compare(a.First, b.First) })
	return given
}

// CheckUnique returns an error if a number was issued twice, or if a call issued no numbers. It takes O(n
// log n) time.
func CheckUnique(calls []Call) error {
	given := Numbers(calls)
	for i, c := range given {
		if c.Last < c.First {
			return fmt.Errorf("call without numbers: %v", c)
		}
		if i > 0 && c.First <= given[i-1].Last {
			return fmt.Errorf("number %d was issued twice:\n%v\n%v", c.First, given[i-1], c)
		}
	}
	return nil
}

// CheckOrder returns an error unless the calls can have happened one after the other with ascending
// numbers, each at some moment between its beginning and its end. It fails in three cases: a call that
// began after the end of another call got a lower number, a number was issued twice, or a read got a number
// inside the range of a call, which is issued as a whole.
//
// CheckOrder compares each call only with the highest number that was answered before the call began. That
// covers all pairs of calls, because a call above this number is above all numbers answered before it. It
// takes O(n log n) time.
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
	var highest *Call // highest call of those that had ended
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
			return fmt.Errorf("number not greater than one that was returned before the call:\n%v\n%v", *highest, c)
		}
	}
	return nil
}

// checkReads returns an error if a read got a number of a call other than the call's last number.
func checkReads(calls []Call) error {
	given := Numbers(calls)
	for _, c := range calls {
		if !c.Read {
			continue
		}
		i, _ := slices.BinarySearchFunc(given, c.Last, func(g Call, last int64) int { return cmp.Compare(g.Last, last) })
		if i < len(given) && given[i].First <= c.Last && c.Last < given[i].Last {
			return fmt.Errorf("last number lies inside the range of a call:\n%v\n%v", given[i], c)
		}
	}
	return nil
}
