package history

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// CheckLinear has porcupine look for an order in which the calls could have happened
// one after the other. It decides what [CheckOrder] does by searching instead of by an
// argument, and is slower: so the calls are cut into slices of at most size of them that
// follow one another in time, and each is judged by itself for at most limit. What is
// not decided by then is an error. Each slice starts anew, with no number given out yet:
// what is wrong only between calls of two slices, such as a number that both gave out,
// CheckOrder sees and this does not. With a size of all calls, both decide the same.
func CheckLinear(calls []Call, size int, limit time.Duration) error {
	byBegin := slices.Clone(calls)
	slices.SortFunc(byBegin, func(a, b Call) int { return a.Began.Compare(b.Began) })
	for part := range slices.Chunk(byBegin, size) {
		began := part[0].Began
		var operations []porcupine.Operation
		for _, c := range ranked(part) {
			operations = append(operations, porcupine.Operation{Input: c, Call: int64(c.Began.Sub(began)), Return: int64(c.Ended.Sub(began))})
		}
		if result := porcupine.CheckOperationsTimeout(model, operations, limit); result != porcupine.Ok {
			return fmt.Errorf("the %d calls that began from %s to %s: %s", len(part),
				began.Format(time.TimeOnly), part[len(part)-1].Began.Format(time.TimeOnly), result)
		}
	}
	return nil
}

// counter is the state of the model: the last number, and how many calls it took to get there.
type counter struct {
	last  int64
	calls int
}

// model is a counter that only goes up, by steps of any size. A call gets numbers above
// the last one; a read gets the last one, or one above it that is lost.
//
// Nothing but the rank keeps the search from going past a number that is still to be
// given out, and from trying in vain, in all ways that there are, what could come then.
var model = porcupine.Model{
	Init: func() any { return counter{last: math.MinInt64} },
	Step: func(state, input, _ any) (bool, any) {
		s, c := state.(counter), input.(rankedCall)
		legal := c.First > s.last && c.Last >= c.First
		if c.Read {
			legal = c.Last >= s.last
		}
		return legal && c.rank == s.calls, counter{c.Last, s.calls + 1}
	},
}

// rankedCall is a call, and how many come before it in the only order of the calls that
// needs to be looked at.
type rankedCall struct {
	Call
	rank int
}

// ranked ranks calls by their numbers, which is the order that they must have happened in
// if in any. What was said to be the last number was given out before, and calls that got
// the same may as well have happened in the order in which they began.
func ranked(calls []Call) []rankedCall {
	all := make([]rankedCall, len(calls))
	for i, c := range calls {
		all[i].Call = c
	}
	slices.SortFunc(all, func(a, b rankedCall) int {
		if a.Last == b.Last && a.Read != b.Read {
			if b.Read {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(a.Last, b.Last), a.Began.Compare(b.Began))
	})
	for i := range all {
		all[i].rank = i
	}
	return all
}
