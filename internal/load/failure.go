package load

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/snowraft/snowraft/internal/rpc"
)

// The reasons of failures that do not come from a server.
const (
	reasonTimeout = "TIMEOUT"
	reasonBroken  = "CONNECTION"
	reasonGarbled = "MALFORMED"
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

// FailureOf returns the failure of a single call.
func FailureOf(err error) Failure {
	return Failure{Reason: reasonOf(err), Count: 1, Example: err.Error()}
}

// Repeatable reports whether the same call may succeed later. Repeating a call does no
// harm here. Redis servers send no reason, so their first words identify their errors.
func (f Failure) Repeatable() bool {
	for _, r := range rpc.Reasons() {
		if r.Repeat != rpc.RepeatNo && (f.Reason == r.Name || r.Redis != "" && strings.HasPrefix(f.Example, r.Redis)) {
			return true
		}
	}
	if strings.HasPrefix(f.Example, "ERR max number of clients") { // refuses the connection, not a command
		return true
	}
	switch f.Reason {
	case reasonTimeout, reasonBroken, "HTTP_502", "HTTP_503", "HTTP_504": // sent by a proxy without a reachable member
		return true
	}
	return false
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
