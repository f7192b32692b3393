package frontend

import (
	"context"
	"strconv"
	"sync"

	"google.golang.org/grpc/metadata"

	"github.com/snowraft/snowraft/trust"
)

// crossed is the metadata with which a call finds its caller again. It counts only on connections through memory.
const crossed = "snowraft-crossed"

// crossing brings the callers of HTTP requests to gRPC through memory. Its zero value is ready.
type crossing struct {
	mu      sync.Mutex
	last    uint64
	callers map[uint64]crosser
}

type crosser struct {
	principal *trust.Principal
	address   string
}

// leave returns the context of a call with the mark of its caller, and what to call after it.
func (c *crossing) leave(ctx context.Context) (_ context.Context, done func()) {
	caller := crosser{trust.PrincipalOf(ctx), trust.AddressOf(ctx)}
	if caller == (crosser{}) { // an open cluster, or an unknown caller
		return ctx, func() {}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.callers == nil {
		c.callers = make(map[uint64]crosser)
	}
	c.last++
	mark := c.last
	c.callers[mark] = caller
	return metadata.AppendToOutgoingContext(ctx, crossed, strconv.FormatUint(mark, 10)), func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.callers, mark)
	}
}

// arrive returns the context of a call that crossed, with its caller; without one if the mark is unknown.
func (c *crossing) arrive(ctx context.Context) context.Context {
	var caller crosser
	if marks := metadata.ValueFromIncomingContext(ctx, crossed); len(marks) > 0 {
		if mark, err := strconv.ParseUint(marks[0], 10, 64); err == nil {
			c.mu.Lock()
			caller = c.callers[mark]
			c.mu.Unlock()
		}
	}
	return trust.WithAddress(trust.WithPrincipal(ctx, caller.principal), caller.address)
}
