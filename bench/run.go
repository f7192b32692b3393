package main

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc"

	"github.com/snowraft/snowraft/internal/load"
)

// The names of figures.
const (
	calls   = "calls/s"
	numbers = "numbers/s"
	p50     = "p50 ns"
	p99     = "p99 ns"
	longest = "max ns"
	each    = "ns each"
)

// callTimeout is the timeout of each call in a turn.
const callTimeout = 10 * time.Second

// loadTurn returns a turn of clients that call in a closed loop. The turn fails if any call fails, because
// contenders must do the same work.
func loadTurn(callers []load.Caller) turn {
	return func(ctx context.Context, d time.Duration) (figures, error) {
		r := load.Run(ctx, load.Plan{Callers: callers, Duration: d})
		if len(r.Failures) > 0 {
			return nil, fmt.Errorf("%d calls failed: %s [%s]", r.Failed(), r.Failures[0].Example, r.Failures[0].Reason)
		}
		return figures{
			calls: r.Rate(r.Calls), numbers: r.Rate(r.Numbers),
			p50: float64(r.Percentile(50)), p99: float64(r.Percentile(99)), longest: float64(r.Latency.Max()),
		}, nil
	}
}

// overOne returns callers that share a connection.
func overOne(address string, clients int, started *closers, caller func(*grpc.ClientConn) load.Caller) ([]load.Caller, error) {
	return overOneWith(address, clients, started, load.Access{}, caller)
}

func overOneWith(address string, clients int, started *closers, access load.Access, caller func(*grpc.ClientConn) load.Caller) ([]load.Caller, error) {
	conn, err := load.Dial(address, access)
	if err != nil {
		return nil, err
	}
	started.add(conn.Close)
	callers := make([]load.Caller, clients)
	for i := range callers {
		callers[i] = caller(conn)
	}
	return callers, nil
}

// loopTurn returns a turn in which one goroutine repeats an operation; do runs the operation n times.
func loopTurn(do func(n int) error) turn {
	return func(ctx context.Context, d time.Duration) (figures, error) {
		elapsed := stopwatch()
		done, err := loop(ctx, d, do)
		if err != nil {
			return nil, err
		}
		took := elapsed()
		return figures{each: float64(took) / float64(done), numbers: float64(done) / took.Seconds()}, nil
	}
}

// loop repeats an operation for the duration d, and returns the number of repetitions.
func loop(ctx context.Context, d time.Duration, do func(n int) error) (done int, err error) {
	elapsed, at := stopwatch(), 16
	for ctx.Err() == nil {
		if err := do(at); err != nil {
			return done, err
		}
		done += at
		took := elapsed()
		if took >= d {
			return done, nil
		}
		// The clock is read about a hundred times per turn, whatever the operation.
		at = max(1, int(float64(done)*min(float64(d/100)/float64(max(took, 1)), 2)))
	}
	return done, ctx.Err()
}
