package load

import (
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

const (
	// longest is the longest latency of the histogram. Longer latencies count as longest.
	longest = time.Hour
	// digits is the number of significant decimal digits kept of a latency.
	digits = 3
	// mostTallies bounds the number of tallies, which take about a third of a megabyte each.
	mostTallies = 16
)

// tally counts the calls of some of the clients.
type tally struct {
	mu       sync.Mutex
	latency  *hdrhistogram.Histogram
	numbers  uint64
	failures map[string]*Failure
}

func newTally() *tally {
	return &tally{latency: newHistogram(), failures: map[string]*Failure{}}
}

func newHistogram() *hdrhistogram.Histogram {
	return hdrhistogram.New(1, longest.Nanoseconds(), digits)
}

func (t *tally) succeeded(took time.Duration, numbers uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.numbers += numbers
	t.waited(took)
}

// waited records a call with a latency. Requires t.mu held.
func (t *tally) waited(took time.Duration) {
	_ = t.latency.RecordValue(min(max(took, 0), longest).Nanoseconds()) // always in range
}

// refused counts a failed call, and the numbers that it got nevertheless.
func (t *tally) refused(err error, numbers uint64) {
	reason := reasonOf(err)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.numbers += numbers
	f := t.failures[reason]
	if f == nil {
		f = &Failure{Reason: reason, Example: err.Error()}
		t.failures[reason] = f
	}
	f.Count++
}

// tallies holds the tallies of all clients.
type tallies []*tally

func newTallies(clients int) tallies {
	all := make(tallies, min(clients, mostTallies))
	for i := range all {
		all[i] = newTally()
	}
	return all
}

// of returns the tally of a client.
func (all tallies) of(client int) *tally { return all[client%len(all)] }

// result returns the sums of all tallies. No client may make calls anymore.
func (all tallies) result() *Result {
	r := &Result{Latency: newHistogram()}
	byReason := map[string]*Failure{}
	for _, t := range all {
		r.Latency.Merge(t.latency)
		r.Numbers += t.numbers
		for reason, f := range t.failures {
			if before := byReason[reason]; before != nil {
				before.Count += f.Count
			} else {
				byReason[reason] = f
			}
		}
	}
	r.Calls = uint64(r.Latency.TotalCount()) //nolint:gosec // a count is not negative
	r.Failures = ranked(byReason)
	return r
}
