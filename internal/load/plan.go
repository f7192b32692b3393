package load

import (
	"context"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Caller is one client. Its calls follow one another.
type Caller interface {
	// Call makes one call and notes what it got, also when it fails. An error that is
	// a *Refusal is counted by its reason.
	Call(ctx context.Context, got *Receipt) error
}

// CallerFunc is a function as a Caller.
type CallerFunc func(ctx context.Context, got *Receipt) error

// Call calls the function.
func (f CallerFunc) Call(ctx context.Context, got *Receipt) error { return f(ctx, got) }

// Plan says what to run.
type Plan struct {
	// Callers are the clients, at least one.
	Callers []Caller
	// Duration is for how long calls are begun, more than 0; those in progress then
	// are waited for.
	Duration time.Duration
	// Rate is the number of calls due per second, over all clients: the open loop.
	// 0 is the closed loop, in which each client makes one call after the other.
	Rate float64
	// Check finds duplicates; nil does not look for them. Runs one after the other may share a check.
	Check *Seen
	// Progress, if not nil, is called about once per second, from one goroutine.
	Progress func(Progress)
}

// Progress is the progress of a run.
type Progress struct {
	Elapsed                time.Duration
	Calls, Numbers, Failed uint64 // so far; Calls are those that succeeded
}

// Result is the result of a run.
type Result struct {
	// Elapsed is the time from the first call's beginning to the last one's end; in
	// the open loop at least the plan's duration, unless it was interrupted.
	Elapsed time.Duration
	// Calls is the number of successful calls, Numbers the number of numbers that they returned.
	Calls, Numbers uint64
	// Overdue is the number of calls that were due in the open loop and not made before the
	// end. Latency counts them with what they had waited by then, which is less
	// than they would have taken.
	Overdue uint64
	// Latency of the calls that succeeded, in nanoseconds.
	Latency *hdrhistogram.Histogram
	// Failures by reason, the most frequent first.
	Failures []Failure
	// Report is the outcome of the check, of all its runs so far; zero without one.
	Report DuplicateReport
}

// Rate is how many of n there were in a second.
func (r *Result) Rate(n uint64) float64 {
	if r.Elapsed <= 0 {
		return 0
	}
	return float64(n) / r.Elapsed.Seconds()
}

// Percentile returns the latency that so many percent of the calls had at most.
func (r *Result) Percentile(p float64) time.Duration {
	return time.Duration(r.Latency.ValueAtPercentile(p))
}

// Failed returns the number of failed calls.
func (r *Result) Failed() (n uint64) {
	for _, f := range r.Failures {
		n += f.Count
	}
	return n
}
