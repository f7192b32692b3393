package frontend

import (
	"context"
	"strconv"
	"sync"

	"google.golang.org/grpc/metadata"

	"github.com/snowraft/snowraft/trust"
)

// crossed is the metadata key of the mark that identifies a call's caller. It counts only on connections through memory.
const crossed = "snowraft-crossed"

// crossing carries the callers of HTTP requests to gRPC through memory. Its zero value is ready to use.
type crossing struct {
	mu      sync.Mutex
	last    uint64
	callers map[uint64]crosser
}

type crosser struct {
	principal *trust.Principal
	address   string
}

// leave stores a call's caller. It returns the context of the call with a mark of that caller, and a function that
// removes the caller.
func (c *crossing) leave(ctx context.Context) (_ context.Context, done func()) {
	caller := crosser{trust.PrincipalOf(ctx), trust.AddressOf(ctx)}
	if caller == (crosser{}) { // open cluster or unknown caller
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

// arrive returns the context of a call with the caller that leave stored; without a caller if the mark is unknown.
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
