package conn

import (
	"context"
)

const (
	// plainHeaders is the size of the headers that CallPrice includes.
	plainHeaders = 2 << 10
	// maxUncounted is the number of calls of a connection that wait for their message and are not counted one by one. The message
	// usually comes with the headers, and watching for the end of a call adds a twentieth to its cost.
	maxUncounted = 16
)

// call is a call whose message has not come, and that is counted on its own.
type call struct {
	price           int64       // bytes
	awaited         int64       // bytes until the message has come
	unauthenticated bool        // no valid token yet
	stop            func() bool // stops waiting for the end of the call
}

type callKey struct{}

// BeginCall charges a call whose headers have come, with that many bytes, and returns its context. The caller of
// Arrived returns the bytes. A call that ends before that returns them itself, or with its connection.
func (c *Conn) BeginCall(ctx context.Context, headers int64) context.Context {
	if c == nil {
		return ctx
	}
	c.Forget()
	begun := &call{price: CallPrice + max(0, headers-plainHeaders)}
	if c.caller.Load() == nil {
		begun.awaited, begun.unauthenticated = UnauthenticatedPrice, true
		c.awaiting.Add(1) // Read counts the message
	} else if headers > plainHeaders || c.uncounted.Add(1) > maxUncounted {
		if headers <= plainHeaders {
			c.uncounted.Add(-1)
		}
		begun.awaited = AwaitedPrice
	} else {
		c.Charge(CallPrice + AwaitedPrice)
		return ctx
	}
	c.Charge(begun.price + begun.awaited)
	begun.stop = context.AfterFunc(ctx, func() { c.arrived(begun, begun.price) })
	return context.WithValue(ctx, callKey{}, begun)
}

// Arrived is called once when the message of a call has come, or when the call ends without it. It returns the number of bytes that
// remain counted for the call, which the caller returns with Charge.
func (c *Conn) Arrived(ctx context.Context) int64 {
	if c == nil {
		return 0
	}
	begun, counted := ctx.Value(callKey{}).(*call)
	switch {
	case !counted:
		c.uncounted.Add(-1)
		c.Charge(-AwaitedPrice)
		return CallPrice
	case begun.stop():
		c.arrived(begun, 0)
		return begun.price
	default:
		return 0 // the call is over
	}
}

// arrived returns what a call counted for its message, and more bytes.
func (c *Conn) arrived(begun *call, more int64) {
	if begun.unauthenticated {
		c.awaiting.Add(-1)
	}
	c.Charge(-begun.awaited - more)
}
