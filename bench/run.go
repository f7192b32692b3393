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

// callTimeout is of a call in any turn.
const callTimeout = 10 * time.Second

// loadTurn returns a turn of clients that call in a closed loop. The turn fails
// with the first call that does: what is compared is the same work.
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

// overOne returns clients that share one connection.
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

// loopTurn returns a turn of one goroutine that does something over and over; do
// does it n times.
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

// loop does something over and over, and returns how often.
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
		// About a hundred looks at the clock a turn, whatever is done.
		at = max(1, int(float64(done)*min(float64(d/100)/float64(max(took, 1)), 2)))
	}
	return done, ctx.Err()
}
