package load

import (
	"context"
	"sync"
	"time"
)

// afterFailure is the time that a client of the closed loop waits after a failed
// call. Refusals arrive so fast that without it they would outnumber all other calls.
const afterFailure = 10 * time.Millisecond

// Run makes calls until the plan's duration has passed or ctx is done, and returns the measurements. It runs
// each Caller in its own goroutine, and does not count calls that ctx interrupts.
func Run(ctx context.Context, p Plan) *Result { return run(ctx, p, newPause) }

// pauses returns the function with which a client pauses. The client calls done at the end.
type pauses func() (pause func(context.Context, time.Duration), done func())

func run(ctx context.Context, p Plan, pauses pauses) *Result {
	r := &runner{plan: p, pauses: pauses, all: newTallies(len(p.Callers))}
	if p.Check != nil {
		r.check = startChecker(p.Check, len(p.Callers))
	}
	r.begin = now()
	r.end = r.begin.Add(p.Duration)
	if p.Rate > 0 {
		r.schedule = newSchedule(r.begin, p.Duration, p.Rate)
	}
	var clients sync.WaitGroup
	for i := range p.Callers {
		clients.Go(func() { r.client(ctx, i) })
	}
	clients.Wait()
	ended := now()
	var late uint64
	if r.schedule != nil {
		if ended.Before(r.end) && ctx.Err() == nil {
			ended = r.end // no more calls were due
		}
		late = r.schedule.overdue(ended, r.all.of(0).waited)
	}
	result := r.all.result()
	result.Elapsed, result.Overdue = ended.Sub(r.begin), late
	result.Calls -= late
	if r.check != nil {
		result.Report = r.check.end()
	}
	return result
}

// runner is a run in progress.
type runner struct {
	plan       Plan
	pauses     pauses
	all        tallies
	check      *checker  // nil: nothing is checked
	schedule   *schedule // nil: the closed loop
	begin, end time.Time
}

// client makes the calls of one client.
func (r *runner) client(ctx context.Context, i int) {
	got := &Receipt{check: r.check}
	if r.check != nil {
		got.step = r.check.seen.order.step
		got.buffer = make([]Span, 0, bufferedSpans)
	}
	defer got.flush()
	caller, t := r.plan.Callers[i], r.all.of(i)
	begins := r.closed()
	if r.schedule != nil {
		pause, done := r.pauses()
		defer done()
		begins = r.open(pause)
	}
	for {
		since, ok := begins(ctx)
		if !ok || ctx.Err() != nil {
			return
		}
		got.numbers = 0
		err := caller.Call(ctx, got)
		switch {
		case err == nil:
			t.succeeded(now().Sub(since), got.numbers)
		case ctx.Err() != nil:
			return
		default:
			t.refused(err, got.numbers)
			if r.schedule == nil {
				pauseByTimer(ctx, afterFailure)
			}
		}
	}
}

// closed returns the start function of the closed loop: each call begins when the call before has ended.
func (r *runner) closed() func(context.Context) (since time.Time, ok bool) {
	return func(context.Context) (time.Time, bool) {
		since := now()
		return since, since.Before(r.end)
	}
}

// open returns the start function of the open loop. It waits until the next call is due, and refuses a call that
// would begin after the end.
func (r *runner) open(pause func(context.Context, time.Duration)) func(context.Context) (since time.Time, ok bool) {
	return func(ctx context.Context) (time.Time, bool) {
		due, ok := r.schedule.take()
		if ok {
			await(ctx, due, pause)
		}
		if !ok || !now().Before(r.end) {
			r.schedule.giveBack()
			return due, false
		}
		return due, true
	}
}
