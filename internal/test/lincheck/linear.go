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

// ErrUndecided reports that the time limit ended the check.
var ErrUndecided = errors.New("not decided in time")

// CheckLinear lets porcupine (github.com/anishathalye/porcupine) search for an order in which the calls could
// have happened one after the other. Porcupine implements the algorithm of Wing and Gong with the improvements
// of Lowe, and of Horn and Kroening. CheckLinear checks the property of [CheckOrder] by a search instead of an
// argument, and is slower. It therefore cuts the calls into slices of at most size calls that follow one another
// in time, and checks each slice separately for at most limit. If a slice is not decided by then, the error is
// [ErrUndecided]. Each slice starts with no number issued yet. CheckLinear therefore misses errors between calls
// of two slices, such as a number that both issued; CheckOrder finds them. If size covers all calls, both checks
// decide the same property.
func CheckLinear(calls []Call, size int, limit time.Duration) error {
	byBegin := slices.Clone(calls)
	slices.SortFunc(byBegin, func(a, b Call) int { return a.Began.Compare(b.Began) })
	for part := range slices.Chunk(byBegin, size) {
		switch porcupine.CheckOperationsTimeout(model, operations(part), limit) {
		case porcupine.Ok:
		case porcupine.Unknown:
			return fmt.Errorf("the %s: %w", span(part), ErrUndecided)
		default:
			return fmt.Errorf("the %s have no sequential order", span(part))
		}
	}
	return nil
}

// Draw writes an HTML page with a picture of the calls, and of the order, possibly partial, that porcupine found
// for them within limit. People can read pictures of a few hundred calls.
func Draw(w io.Writer, calls []Call, limit time.Duration) error {
	_, info := porcupine.CheckOperationsVerbose(model, operations(calls), limit)
	return porcupine.Visualize(model, info, w)
}

// span describes the times at which calls began. The calls are in the order of these times.
func span(calls []Call) string {
	return fmt.Sprintf("%d calls that began from %s to %s", len(calls),
		calls[0].Began.Format(time.TimeOnly), calls[len(calls)-1].Began.Format(time.TimeOnly))
}

// operations returns the calls in the form that porcupine reads. Overlapping calls get different
// clients, which are the lines of porcupine's pictures.
func operations(calls []Call) []porcupine.Operation {
	all := ranked(calls)
	slices.SortStableFunc(all, func(a, b rankedCall) int { return a.Began.Compare(b.Began) })
	operations := make([]porcupine.Operation, 0, len(all))
	var free []time.Time // end of the last call of each line
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

// counter is the state of the model: the last number, and the number of calls so far.
type counter struct {
	last  int64
	calls int
}

// model is a counter that only ascends, in steps of any size. A call gets numbers above
// the last one. A read gets the last number, or a lost number above it.
//
// The rank prevents the search from passing a number that must still be
// issued, and then trying all orders of the remaining calls in vain.
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

// rankedCall is a call with the number of calls before it in the only order of the calls that
// must be checked.
type rankedCall struct {
	Call
	rank int
}

// ranked ranks calls by their numbers. If the calls happened in some order, they happened in the
// order of their numbers. A number was issued before a read returned it as the last one, and reads of
// the same number can be ordered by their beginnings.
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
