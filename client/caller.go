package client

import (
	"context"
	"math/rand/v2"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
)

const (
	// firstPause is how long to wait after all members failed; it doubles up to longestPause.
	firstPause   = 10 * time.Millisecond
	longestPause = 500 * time.Millisecond
)

// caller makes calls, at another member when one fails and that is safe. It ends with an [*Error].
type caller struct {
	opts     *options
	standing *standing
	life     context.Context // of the channel
}

// invoke is a grpc.UnaryClientInterceptor.
func (c *caller) invoke(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoker grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.opts.timeout)
		defer cancel()
	}
	p := policies[method]
	one := func(ctx context.Context, reply any) error { return invoker(ctx, method, req, reply, cc, opts...) }
	if p.hedged && c.opts.hedge > 0 {
		one = c.hedged(one)
	}
	var avoid []string
	patience, pause := p.patience, firstPause
	for {
		t := &try{avoid: avoid, standing: c.standing}
		err := c.try(ctx, t, method, patience, reply, one)
		if err == nil {
			return nil
		}
		member, others := t.chosen()
		e := newError(err, member)
		switch {
		case c.life.Err() != nil:
			return ErrClosed
		case ctx.Err() != nil:
			e.cause = ctx.Err()
			return e
		case !p.again(e, member != ""):
			return e
		case others:
			avoid = append(avoid, member)
			continue
		}
		// All members that are there have failed.
		avoid, patience = nil, 2*patience
		if !c.sleep(ctx, max(pause, min(e.RetryAfter, longestPause)), e) {
			return e
		}
		pause = min(2*pause, longestPause)
	}
}

// try tries once, at a member that t would have.
func (c *caller) try(ctx context.Context, t *try, method string, patience time.Duration, reply any, one func(context.Context, any) error) error {
	mine := t.within(ctx)
	if patience > 0 {
		var cancel context.CancelFunc
		mine, cancel = context.WithTimeout(mine, patience)
		defer cancel()
	}
	began := time.Now()
	err := one(mine, reply)
	member, _ := t.chosen()
	c.opts.hooks.try(method, member, time.Since(began), err)
	if err != nil && mine.Err() != nil && ctx.Err() == nil && member != "" {
		c.standing.suspect(member)
	}
	return err
}

// sleep reports whether it waited, so that another try makes sense; else e says why not.
func (c *caller) sleep(ctx context.Context, pause time.Duration, e *Error) bool {
	pause += rand.N(pause/4 + 1) // so that not all callers come back at once
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < max(pause, e.RetryAfter) {
		e.cause = context.DeadlineExceeded
		return false
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		e.cause = ctx.Err()
	case <-c.life.Done():
		e.cause = ErrClosed
	}
	return false
}

// hedged asks another member too when the first takes long.
func (c *caller) hedged(one func(context.Context, any) error) func(context.Context, any) error {
	return func(ctx context.Context, reply any) error {
		first, ok := ctx.Value(tryKey{}).(*try)
		into, ok2 := reply.(proto.Message)
		if !ok || !ok2 {
			return one(ctx, reply)
		}
		ctx, cancel := context.WithCancel(ctx) // the loser's
		defer cancel()
		type answer struct {
			reply proto.Message
			try   *try
			err   error
		}
		answers := make(chan answer, 2)
		ask := func(t *try) {
			mine := into.ProtoReflect().New().Interface()
			answers <- answer{mine, t, one(t.within(ctx), mine)}
		}
		go ask(first)
		timer := time.NewTimer(c.opts.hedge)
		defer timer.Stop()
		for waiting := 1; ; {
			select {
			case <-timer.C:
				member, others := first.chosen()
				if others {
					waiting++
					go ask(&try{avoid: append([]string{member}, first.avoid...), standing: first.standing})
				}
			case a := <-answers:
				waiting--
				if a.err == nil {
					first.choose(a.try.chosen())
					proto.Reset(into)
					proto.Merge(into, a.reply)
					return nil
				}
				if waiting == 0 {
					return a.err
				}
			}
		}
	}
}
