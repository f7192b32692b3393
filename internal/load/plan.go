package load

import (
	"context"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Caller is one client. One goroutine makes its calls, one after the other.
type Caller interface {
	// Call makes one call and records the numbers that it got, even if it fails. A
	// *Refusal is counted by its reason.
	Call(ctx context.Context, got *Receipt) error
}

// CallerFunc is a function that implements Caller.
type CallerFunc func(ctx context.Context, got *Receipt) error

// Call calls the function.
func (f CallerFunc) Call(ctx context.Context, got *Receipt) error { return f(ctx, got) }

// Plan describes a run.
type Plan struct {
	// Callers are the clients, at least one.
	Callers []Caller
	// Duration is the time during which calls begin, more than 0. Run waits for the calls in
	// progress at its end.
	Duration time.Duration
	// Rate is the number of calls due per second over all clients, in the open loop.
	// 0 selects the closed loop, in which each client makes one call after the other.
	Rate float64
	// Check finds duplicates; nil disables the check. Successive runs may share a check.
	Check *Seen
}

// Result is the result of a run.
type Result struct {
	// Elapsed is the time from the beginning of the first call to the end of the last one. In
	// the open loop, it is at least the plan's duration, unless the run was interrupted.
	Elapsed time.Duration
	// Calls is the number of successful calls, Numbers the number of numbers that they returned.
	Calls, Numbers uint64
	// Overdue is the number of calls in the open loop that were due before the end and not made.
	// Latency counts them with their waiting time until the end, which is less
	// than their latency would have been.
	Overdue uint64
	// Latency is the distribution of the latencies of successful and overdue calls, in nanoseconds.
	Latency *hdrhistogram.Histogram
	// Failures lists the failures by reason, the most frequent first.
	Failures []Failure
	// Report is the outcome of the check over all its runs so far; zero without a check.
	Report DuplicateReport
}

// Rate returns n per second of Elapsed; 0 if no time elapsed.
func (r *Result) Rate(n uint64) float64 {
	if r.Elapsed <= 0 {
		return 0
	}
	return float64(n) / r.Elapsed.Seconds()
}

// Percentile returns the latency that p percent of the calls did not exceed, p from 0 to 100. It
// has three significant digits; latencies above one hour count as one hour.
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
