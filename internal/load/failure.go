package load

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/snowraft/snowraft/internal/rpc"
)

// The reasons of failures that do not come from a server.
const (
	reasonTimeout = "TIMEOUT"
	reasonBroken  = "CONNECTION"
	reasonOther   = "OTHER"
)

// Refusal is an error with the reason by which failures are counted.
type Refusal struct {
	// Reason is a word in capitals, such as CLOCK_BEHIND or HTTP_500.
	Reason string
	// Text describes the failure for people.
	Text string
}

func (e *Refusal) Error() string { return e.Text }

// Failure counts the calls that failed for one reason.
type Failure struct {
	Reason string
	Count  uint64
	// Example is the message of the first failure.
	Example string
}

// Repeatable reports whether the same call may succeed later. Repeating a call does no harm here.
func (f Failure) Repeatable() bool {
	if r, ok := rpc.ReasonOf(f.Reason); ok {
		return r.Repeat != rpc.RepeatNo
	}
	return f.Reason == reasonTimeout || f.Reason == reasonBroken
}

// reasonOf returns the reason by which an error is counted.
func reasonOf(err error) string {
	if r, ok := errors.AsType[*Refusal](err); ok {
		return r.Reason
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return reasonTimeout
	}
	return reasonOther
}

// ranked returns failures, the most frequent first.
func ranked(byReason map[string]*Failure) []Failure {
	var list []Failure
	for _, f := range byReason {
		list = append(list, *f)
	}
	slices.SortFunc(list, func(a, b Failure) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Reason, b.Reason))
	})
	return list
}
