package frontend

import (
	"context"
	"sync"
	"time"

	"github.com/snowraft/snowraft/internal/limits"
)

// patience is the context of a call that has no deadline of its own. Its deadline is limits.CallTimeout after the call began.
// Most calls never wait. The timer, which is a large part of an interceptor's cost, therefore starts at the first call of
// Done.
type patience struct {
	context.Context // the call's

	mu     sync.Mutex
	until  time.Time       // zero: limits.CallTimeout after the first wait
	timed  context.Context // nil until a goroutine waits
	cancel context.CancelFunc
}

func newPatience(call context.Context, began time.Time) *patience {
	return &patience{Context: call, until: began.Add(limits.CallTimeout)}
}

// Deadline implements context.Context.
func (p *patience) Deadline() (time.Time, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.deadline(), true
}

// deadline returns p.until, and sets it first if it is zero. Requires p.mu.
func (p *patience) deadline() time.Time {
	if p.until.IsZero() {
		p.until = time.Now().Add(limits.CallTimeout)
	}
	return p.until
}

// Done implements context.Context.
func (p *patience) Done() <-chan struct{} { return p.waiting().Done() }

// Err implements context.Context.
func (p *patience) Err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.timed != nil {
		return p.timed.Err()
	}
	if err := p.Context.Err(); err != nil {
		return err
	}
	if !p.until.IsZero() && !time.Now().Before(p.until) {
		return context.DeadlineExceeded
	}
	return nil
}

// AfterFunc spares derived contexts a goroutine.
func (p *patience) AfterFunc(f func()) (stop func() bool) { return context.AfterFunc(p.waiting(), f) }

func (p *patience) waiting() context.Context {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.timed == nil {
		p.timed, p.cancel = context.WithDeadline(p.Context, p.deadline())
	}
	return p.timed
}

// end releases the timer when the call is over.
func (p *patience) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cancel != nil {
		p.cancel()
	}
}

// bounded gives a call without a deadline the deadline of gRPC calls. It counts from the first wait, because reading the
// clock is a notable part of a call that does not wait.
func bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return ctx, func() {}
	}
	p := &patience{Context: ctx}
	return p, p.end
}

// Within returns a context that ends after d, or with ctx if that is earlier. The caller must call the returned function.
func Within(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	until := time.Now().Add(d)
	if deadline, ok := ctx.Deadline(); ok && deadline.Before(until) {
		return ctx, func() {}
	}
	p := &patience{Context: ctx, until: until}
	return p, p.end
}
