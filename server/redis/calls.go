package redis

import (
	"context"
	"sync/atomic"
)

// calls holds the context that calls of the Backend begin with. Making one for
// each command would cost more than most commands; so all of one beat share one,
// whose deadline is a beat later than any of them needs.
type calls struct {
	base   context.Context
	cancel context.CancelFunc
	now    atomic.Pointer[context.Context]
}

func newCalls() *calls {
	c := &calls{}
	c.base, c.cancel = context.WithCancel(context.Background())
	c.renew()
	return c
}

// context is what a call begins with now.
func (c *calls) context() context.Context { return *c.now.Load() }

// renew gives the calls of the next beat their context. It is called by one
// goroutine, once a beat.
func (c *calls) renew() {
	ctx, cancel := context.WithTimeout(c.base, callTimeout+beat)
	context.AfterFunc(ctx, cancel) // not sooner: calls may have it until it ends by itself
	c.now.Store(&ctx)
}

// end cancels all calls, also those to come.
func (c *calls) end() { c.cancel() }
