package main

import (
	"context"
	"slices"
	"time"
)

// samples is a list of single measured times.
type samples []time.Duration

// percentile returns a percentile of the samples, in nanoseconds; 0 if there are none.
func (s samples) percentile(percent int) float64 {
	if len(s) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(s))
	return float64(sorted[max(0, (len(sorted)*percent+99)/100-1)])
}

// figures returns the usual figures of the samples.
func (s samples) figures() figures {
	return figures{p50: s.percentile(50), p99: s.percentile(99), longest: s.percentile(100)}
}

// burst is the number of calls that are timed together because each takes less time than reading the clock.
const burst = 16

// burstTurn returns a turn that times calls in bursts with pauses between them, like callers that also do other
// work.
func burstTurn(next func() error) turn {
	return func(ctx context.Context, d time.Duration) (figures, error) {
		var all samples
		for whole := stopwatch(); len(all) == 0 || whole() < d; {
			elapsed := stopwatch()
			for range burst {
				if err := next(); err != nil {
					return nil, err
				}
			}
			all = append(all, elapsed()/burst)
			if err := pass(ctx, time.Millisecond); err != nil {
				return nil, err
			}
		}
		return all.figures(), nil
	}
}
