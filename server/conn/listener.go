// Package conn owns the connections of clients, for every protocol: their slots, the memory that they hold, their idle time and
// their deadlines. The main type is [Conn].
package conn

import (
	"context"
	"net"
	"time"

	"github.com/snowraft/snowraft/internal/slots"
)

// Prices in bytes, measured as the growth of a process.
const (
	// Price is the price of a connection: its goroutines, its buffers, the state of its TLS, and the headers of one HTTP request.
	Price = 40 << 10
	// CallPrice is the price of a gRPC call, from its headers until the transport has its answer, and of a stream.
	CallPrice = 5 << 10
	// HeaderPrice is the price of a header of a call, in addition to its text.
	HeaderPrice = 64
	// AwaitedPrice is added to the call of a caller with a token until its message has come.
	AwaitedPrice = 11 << 10
	// UnauthenticatedPrice is added to that of another caller, of which the message is counted by the byte.
	UnauthenticatedPrice = 5 << 10
	// maxMemory is the most that clients may hold.
	maxMemory = 512 << 20
)

// NewBudget returns most slots and the memory of all clients of a process whose memory limit is limit, in bytes. All connections
// together have half of that limit, at most 512 MiB; those of one token have a quarter of the slots and of the memory; those of all
// unauthenticated callers together a quarter of the memory; those of one address half of the slots. Answers are reserved within
// these limits. Bytes that cannot be refused, such as those of headers, may exceed them by a quarter, and then closes the connection
// that holds most. So clients hold at most 5/8 of the limit of the process:
//
//	connections × Price + calls × CallPrice + headers + incomplete requests + answers that the system has not taken
func NewBudget(most int, limit int64) *slots.Budget {
	return slots.NewBudget(most, max(1, most/2), min(limit/2, maxMemory), Price)
}

// listener gives each connection a slot until it is closed.
type listener struct {
	net.Listener
	budget  *slots.Budget
	refused func(net.Conn)
}

// Listen returns a listener whose connections are [*Conn]s. It calls refused with each connection for which there is no slot, on the
// goroutine of Accept, and then closes that connection.
func Listen(l net.Listener, budget *slots.Budget, refused func(net.Conn)) net.Listener {
	return &listener{l, budget, refused}
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	for {
		nc, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if slot, ok := l.budget.Take(nc.RemoteAddr(), func() { _ = nc.Close() }); ok {
			c := &Conn{Conn: nc, slot: slot, began: time.Now()}
			c.reads.set, c.writes.set = nc.SetReadDeadline, nc.SetWriteDeadline
			return c, nil
		}
		l.refused(nc)
		_ = nc.Close()
	}
}

// Of returns the Conn below a connection, also if TLS or another layer with a method NetConn wraps it; nil if there is none.
func Of(nc net.Conn) *Conn {
	for {
		switch c := nc.(type) {
		case *Conn:
			return c
		case interface{ NetConn() net.Conn }:
			nc = c.NetConn()
		default:
			return nil
		}
	}
}

// Addr is the address of a client, through which a gRPC call finds its connection.
type Addr struct {
	net.Addr
	Conn *Conn
}

// RemoteAddr implements net.Conn.
func (c *Conn) RemoteAddr() net.Addr { return &Addr{c.Conn.RemoteAddr(), c} }

type key struct{}

// With returns a context that holds the connection of HTTP requests.
func With(ctx context.Context, nc net.Conn) context.Context {
	return context.WithValue(ctx, key{}, Of(nc))
}

// From returns the connection in a context; nil if there is none.
func From(ctx context.Context) *Conn {
	c, _ := ctx.Value(key{}).(*Conn)
	return c
}
