package load

import (
	"cmp"
	"context"
	"errors"
	"slices"
)

// The reasons of failures that no server gives.
const (
	reasonTimeout = "TIMEOUT"
	reasonBroken  = "CONNECTION"
	reasonOther   = "OTHER"
)

// Refusal is an error with a reason that failures are counted by.
type Refusal struct {
	// Reason is a word in capitals, such as CLOCK_BEHIND or HTTP_500.
	Reason string
	// Text is what happened, for people.
	Text string
}

func (e *Refusal) Error() string { return e.Text }

// Failure is how often calls failed for a reason.
type Failure struct {
	Reason string
	Count  uint64
	// Example is what the first one said.
	Example string
}

// reasonOf is what a failure is counted by.
func reasonOf(err error) string {
	if r, ok := errors.AsType[*Refusal](err); ok {
		return r.Reason
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return reasonTimeout
	}
	return reasonOther
}

// ranked lists failures, the most frequent first.
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
