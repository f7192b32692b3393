package client

import (
	"context"
	"errors"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/snowraft/snowraft/allocator"
	"github.com/snowraft/snowraft/internal/lines"
	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/snowflake"
)

// open requests the layout and opens the lanes. It retries until it succeeds or ctx ends.
func (g *Generator) open(ctx context.Context) {
	const layoutTimeout = 5 * time.Second
	var failing lines.Repeat
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		bounded, cancel := context.WithTimeout(ctx, layoutTimeout)
		layout, err := g.layout(bounded)
		cancel()
		var i *allocator.Issuer
		if err == nil {
			i, err = g.lanes(layout)
		}
		if ctx.Err() != nil && i == nil {
			return
		}
		g.mu.Lock()
		g.problem = err
		g.issuer.Store(i)
		g.mu.Unlock()
		g.news.Send()
		if err == nil || !wait(ctx, pause, nil) {
			return
		}
		if failing.Allow() {
			g.opts.logger.Warn("generator cannot start yet; retrying", "layout", g.opts.layout, "error", err)
		}
	}
}

func (g *Generator) layout(ctx context.Context) (*snowflake.Layout, error) {
	resp, err := g.client.catalog.GetLayout(ctx, &snowraftv1.GetLayoutRequest{Name: g.opts.layout})
	if err != nil {
		return nil, err
	}
	return snowflake.New(rpc.Spec(resp.GetLayout()))
}

func (g *Generator) lanes(layout *snowflake.Layout) (*allocator.Issuer, error) {
	return allocator.Open(allocator.Config{
		Layout: layout, Holder: *g.opts.holder, Nonce: g.nonce, Lanes: g.opts.lanes,
		Granter:    windowGranter{rpc.MemberGranter{Workers: snowraftv1.NewWorkerServiceClient(g.client.leader)}},
		Watch:      g.judge.watch,
		WindowWait: g.waitLimit,
		Observe:    g.judge.observe,
		Logger:     g.opts.logger,
	})
}

// await waits for the issuer and returns it.
func (g *Generator) await(ctx context.Context) (*allocator.Issuer, error) {
	if i := g.issuer.Load(); i != nil {
		return i, nil
	}
	ctx, cancel := bounded(ctx, g.client.opts.timeout)
	defer cancel()
	for {
		news := g.news.Next() // taken before the check, so that no change is missed
		g.mu.Lock()
		i, missing := g.issuer.Load(), g.missing()
		g.mu.Unlock()
		if i != nil {
			return i, nil
		}
		if !errors.Is(missing, ErrWindowEnded) {
			return nil, missing
		}
		select {
		case <-news:
		case <-ctx.Done():
			last, _ := errors.AsType[*Error](missing)
			return nil, interrupted(ctx.Err(), last)
		}
	}
}

// missing returns the reason why there is no issuer: ErrWindowEnded if there may be one soon. Requires g.mu.
func (g *Generator) missing() error {
	e := &Error{Reason: rpc.WindowEnded, RetryAfter: rpc.RetrySoon, code: codes.Unavailable, message: "no window was granted yet"}
	switch p := g.problem; {
	case g.closed, errors.Is(p, ErrClosed):
		return ErrClosed
	case p == nil:
	case errors.Is(p, ErrUnknownLayout), denied(p):
		return p
	case errors.Is(p, allocator.ErrInvalidArgument), errors.Is(p, snowflake.ErrInvalidLayout):
		return g.failure(p)
	default:
		e.message += ", and the layout could not be read: " + p.Error()
	}
	return e
}

// waitLimit returns the time for which a call waits for a window. had is true if there was a window before.
func (g *Generator) waitLimit(ctx context.Context, had bool) time.Duration {
	switch deadline, ok := ctx.Deadline(); {
	case g.opts.failFast && had:
		return 0
	case ok:
		return time.Until(deadline)
	default:
		return g.client.opts.timeout
	}
}

// failure converts an error of the lanes, or of opening them, to an error of this package.
func (g *Generator) failure(err error) error {
	if errors.Is(err, allocator.ErrClosed) {
		return ErrClosed
	}
	var cause error
	if interrupted, ok := errors.AsType[*allocator.InterruptedError](err); ok {
		if interrupted.Missing == nil {
			return interrupted.Err
		}
		err, cause = interrupted.Missing, interrupted.Err
	}
	if refused, ok := errors.AsType[*allocator.RefusedError](err); ok {
		return refused.Err
	}
	e := allocating(err, time.UnixMilli(g.judge.watch.Now().Wall))
	e.cause = cause
	return e
}

// windowGranter requests workers and windows from a member. It shows the lanes which refusals last.
type windowGranter struct{ rpc.MemberGranter }

// AcquireWorker implements allocator.Granter.
func (w windowGranter) AcquireWorker(ctx context.Context, r allocator.AcquireRequest) (allocator.Grant, error) {
	grant, err := w.MemberGranter.AcquireWorker(ctx, r)
	return grant, toLane(err)
}

// ExtendWindow implements allocator.Granter.
func (w windowGranter) ExtendWindow(ctx context.Context, r allocator.ExtendRequest) (allocator.Grant, error) {
	grant, err := w.MemberGranter.ExtendWindow(ctx, r)
	return grant, toLane(err)
}

// toLane returns err as an [allocator.RefusedError] if it is about the token of this client.
func toLane(err error) error {
	if denied(err) {
		return &allocator.RefusedError{Err: err}
	}
	return err
}
