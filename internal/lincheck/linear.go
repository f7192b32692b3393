package lincheck

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// ErrUndecided says that there was not enough time to judge.
var ErrUndecided = errors.New("not decided in time")

// CheckLinear has porcupine look for an order in which the calls could have happened
// one after the other. It decides what [CheckOrder] does by searching instead of by an
// argument, and is slower: so the calls are cut into slices of at most size of them that
// follow one another in time, and each is judged by itself for at most limit. History that is
// not decided by then is an [ErrUndecided]. Each slice starts again, with no number issued yet:
// what is wrong only between calls of two slices, such as a number that both issued,
// CheckOrder sees and this does not. With a size of all calls, both decide the same.
func CheckLinear(calls []Call, size int, limit time.Duration) error {
	byBegin := slices.Clone(calls)
	slices.SortFunc(byBegin, func(a, b Call) int { return a.Began.Compare(b.Began) })
	for part := range slices.Chunk(byBegin, size) {
		switch porcupine.CheckOperationsTimeout(model, operations(part), limit) {
		case porcupine.Ok:
		case porcupine.Unknown:
			return fmt.Errorf("the %s: %w", span(part), ErrUndecided)
		default:
			return fmt.Errorf("the %s could not have happened one after the other", span(part))
		}
	}
	return nil
}

// Draw writes an HTML page with a picture of the calls, and of the order that porcupine found
// for them within limit, or how far it came. As porcupine's pictures are of what is looked at
// by people, a few hundred calls are a good number.
func Draw(w io.Writer, calls []Call, limit time.Duration) error {
	_, info := porcupine.CheckOperationsVerbose(model, operations(calls), limit)
	return porcupine.Visualize(model, info, w)
}

// span says when calls began, which are in that order.
func span(calls []Call) string {
	return fmt.Sprintf("%d calls that began from %s to %s", len(calls),
		calls[0].Began.Format(time.TimeOnly), calls[len(calls)-1].Began.Format(time.TimeOnly))
}

// operations returns the calls in the form that porcupine reads. Those that overlap are of different
// clients, which are the lines of its pictures.
func operations(calls []Call) []porcupine.Operation {
	all := ranked(calls)
	slices.SortStableFunc(all, func(a, b rankedCall) int { return a.Began.Compare(b.Began) })
	operations := make([]porcupine.Operation, 0, len(all))
	var free []time.Time // when the last call of each line ended
	for _, c := range all {
		line := slices.IndexFunc(free, c.Began.After)
		if line < 0 {
			line, free = len(free), append(free, time.Time{})
		}
		free[line] = c.Ended
		operations = append(operations, porcupine.Operation{
			ClientId: line, Input: c, Call: int64(c.Began.Sub(all[0].Began)), Return: int64(c.Ended.Sub(all[0].Began)),
		})
	}
	return operations
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
// issued, and from trying in vain, in all ways that there are, what could come then.
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
	DescribeOperation: func(input, _ any) string { return input.(rankedCall).String() },
	DescribeState: func(state any) string {
		if s := state.(counter); s.calls > 0 {
			return fmt.Sprintf("the last number is %d", s.last)
		}
		return "none yet"
	},
}

// rankedCall is a call, and how many come before it in the only order of the calls that
// needs to be looked at.
type rankedCall struct {
	Call
	rank int
}

// ranked ranks calls by their numbers, which is the order that they must have happened in
// if in any. What was said to be the last number was issued before, and calls that got
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
