package conn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/snowraft/snowraft/internal/rpc"
	"github.com/snowraft/snowraft/internal/slots"
	"github.com/snowraft/snowraft/trust"
)

const (
	// MaxReadAhead is the largest number of bytes that are read from a client that reads no answers. Without this bound,
	// calls that the client cancels would leave their answers in memory.
	MaxReadAhead = 256 << 10
	// maxHandshake is the largest number of bytes that a client sends before its first request. A handshake with the certificate of
	// an administrator takes a few KiB, and the headers of a request at most 16.
	maxHandshake = 32 << 10
)

// Conn is the connection of a client. It has a slot, and holds bytes of the budget of all clients, until it is closed. One goroutine reads
// from it, and another writes to it. All methods but those of net.Conn do nothing for a nil *Conn, which is a call inside the process
// or a connection without limits.
type Conn struct {
	net.Conn
	slot  *slots.Slot
	began time.Time

	caller    atomic.Pointer[trust.Principal] // last caller with a valid token or certificate
	requests  atomic.Int64                    // requests in progress
	last      atomic.Int64                    // end of the last request, in ns since began
	idle      atomic.Pointer[func() time.Duration]
	uncounted atomic.Int64 // calls of known callers whose message has not come, and that are not counted one by one
	awaiting  atomic.Int64 // calls of strangers whose message has not come
	used      atomic.Pointer[func(time.Time)]
	closed    atomic.Bool

	writing chan struct{} // holds an item during a write; nil if reads do not wait for writes
	input   int64         // counted bytes of a stranger's incomplete requests; used only by the reader
	open    bool          // the first request has come
	ahead   int64         // bytes read since Sent changed; used only by the reader
	seen    int64         // last seen value of Sent; used only by the reader

	reads, writes deadline
}

// Keep keeps the connection for an authorized caller: it makes way for others only while it is idle, and those of members and
// administrators never. The connection counts for its first caller with a token until that token is revoked. An error means that
// the caller's share is used up.
func (c *Conn) Keep(p *trust.Principal) error {
	if c == nil || c.Known() {
		return nil
	}
	var idler slots.Idler
	if !p.IsMember() && !p.IsAdmin() {
		idler = c
		if c.requests.Load() == 0 { // otherwise End sets it
			c.last.Store(int64(time.Since(c.began)))
		}
	}
	if !c.slot.Serve(p.TokenID(), idler) {
		text := "all connections are in use; close some, or try another member"
		if id := p.TokenID(); id != 0 {
			text = fmt.Sprintf("token %d has a quarter of the connections; close some, try another member, or use another token", id)
		}
		return rpc.NewError(rpc.Overloaded, text)
	}
	c.caller.Store(p)
	return nil
}

// Known reports whether the last caller that Keep accepted is still authorized.
func (c *Conn) Known() bool {
	p := c.caller.Load()
	return p != nil && !p.Gone()
}

// Forget makes the connection a stranger's if its caller is no longer authorized.
func (c *Conn) Forget() {
	if c != nil && c.caller.Load() != nil && !c.Known() {
		c.caller.Store(nil)
		c.slot.Distrust()
	}
}

// Begin marks the begin of each request, and End its end. Refused requests do not count, so that callers with a revoked token do not keep a
// connection busy.
func (c *Conn) Begin() {
	if c != nil {
		c.requests.Add(1)
	}
}

// End is described at Begin.
func (c *Conn) End() {
	if c != nil {
		c.last.Store(int64(time.Since(c.began)))
		c.requests.Add(-1)
	}
}

// BeginOnly begins the request of a connection that has one request at a time, unless it has already begun.
func (c *Conn) BeginOnly() {
	if c != nil {
		c.requests.Store(1)
	}
}

// EndOnly ends the request of a connection that has one request at a time, if it has begun.
func (c *Conn) EndOnly() {
	if c != nil && c.requests.Load() > 0 {
		c.End()
	}
}

// Idle returns the time for which the connection has been idle; 0 while a request is served.
func (c *Conn) Idle() time.Duration {
	if idle := c.idle.Load(); idle != nil {
		return (*idle)()
	}
	if c.requests.Load() > 0 {
		return 0
	}
	return time.Since(c.began) - time.Duration(c.last.Load())
}

// SetIdle replaces the count of requests by a function that returns the same as Idle. It is called with locks held.
func (c *Conn) SetIdle(idle func() time.Duration) {
	if c != nil {
		c.idle.Store(&idle)
	}
}

// Charge is [slots.Slot.Charge].
func (c *Conn) Charge(n int64) {
	if c != nil {
		c.slot.Charge(n)
	}
}

// TryReserve is [slots.Slot.TryReserve].
func (c *Conn) TryReserve(n int64) bool { return c == nil || c.slot.TryReserve(n) }

// Full is [slots.Slot.Full].
func (c *Conn) Full() (returned <-chan struct{}, full bool) {
	if c == nil {
		return nil, false
	}
	return c.slot.Full()
}

// Reserve is [slots.Slot.Reserve]. The error is that of ctx or an *rpc.Error.
func (c *Conn) Reserve(ctx context.Context, n int64) (int64, error) {
	if c == nil || n <= 0 {
		return 0, nil
	}
	held, err := c.slot.Reserve(ctx, n)
	if errors.Is(err, slots.ErrMemory) {
		err = rpc.NewError(rpc.Overloaded, fmt.Sprintf("no memory for a response of up to %d bytes, because clients do not read their responses; try again later, or request less", n))
	}
	return held, err
}

// Sent counts n bytes that the system took by another way than Write.
func (c *Conn) Sent(n int) {
	if c != nil {
		c.slot.Sent(int64(n))
	}
}

// Requested is called by the reader when the first request comes. Until then, the client may send only little.
func (c *Conn) Requested() {
	if c != nil {
		c.open = true
	}
}

// errHandshake is the error of a client that sends too much before its first request.
var errHandshake = errors.New("too many bytes before the first request")

// LimitReadAhead lets reads wait for the client to take answers once MaxReadAhead bytes were read since it took any. It is called
// before the first read.
func (c *Conn) LimitReadAhead() {
	if c != nil {
		c.writing = make(chan struct{}, 1)
	}
}

// awaitWrite waits for the end of a write if too much was read since the client took anything.
func (c *Conn) awaitWrite() {
	select {
	case c.writing <- struct{}{}: // nothing waits for the client
		<-c.writing
		c.ahead = 0
	default:
		if sent := c.slot.Sent(0); sent != c.seen {
			c.seen, c.ahead = sent, 0
		} else if c.ahead >= MaxReadAhead {
			c.writing <- struct{}{}
			<-c.writing
		}
	}
}

// Read implements net.Conn.
func (c *Conn) Read(b []byte) (int, error) {
	if c.writing != nil {
		c.awaitWrite()
	}
	known := c.caller.Load() != nil
	if c.input > 0 && c.open && (known || c.awaiting.Load() == 0) {
		c.Charge(-c.input)
		c.input = 0
	}
	n, err := c.reads.do(c.Conn.Read, b)
	c.ahead += int64(n)
	if !known {
		c.input += int64(n)
		c.Charge(int64(n))
		if !c.open && c.input > maxHandshake {
			return 0, errHandshake
		}
	}
	return n, err
}

// Write implements net.Conn.
func (c *Conn) Write(b []byte) (int, error) {
	if c.writing != nil {
		c.writing <- struct{}{}
		defer func() { <-c.writing }()
	}
	n, err := c.writes.do(c.Conn.Write, b)
	c.slot.Sent(int64(n))
	return n, err
}

// SyscallConn implements syscall.Conn, for writes that do not wait.
func (c *Conn) SyscallConn() (syscall.RawConn, error) {
	if sc, ok := c.Conn.(syscall.Conn); ok {
		return sc.SyscallConn()
	}
	return nil, errors.ErrUnsupported
}

// Close implements net.Conn. It may be called again.
func (c *Conn) Close() error {
	err := c.Conn.Close()
	c.closed.Store(true)
	c.swapUse(nil)
	c.slot.Release()
	return err
}

// CloseWrite closes the sending side, if the connection supports that. net/http uses it so that an answer arrives before the
// connection closes.
func (c *Conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// Use replaces the use of a token on the connection, whose end closed hears. It ends the use if the connection is closed.
func (c *Conn) Use(closed func(time.Time)) {
	c.swapUse(&closed)
	if c.closed.Load() {
		c.swapUse(nil)
	}
}

// Used reports whether the connection has a use.
func (c *Conn) Used() bool { return c.used.Load() != nil }

func (c *Conn) swapUse(next *func(time.Time)) {
	if last := c.used.Swap(next); last != nil {
		(*last)(time.Now())
	}
}

// SetReadDeadline implements net.Conn, as do SetWriteDeadline and SetDeadline.
func (c *Conn) SetReadDeadline(at time.Time) error { return c.reads.change(at) }

// SetWriteDeadline implements net.Conn.
func (c *Conn) SetWriteDeadline(at time.Time) error { return c.writes.change(at) }

// SetDeadline implements net.Conn.
func (c *Conn) SetDeadline(at time.Time) error {
	return cmp.Or(c.reads.change(at), c.writes.change(at))
}

// deadline is the deadline of one direction of a connection. net/http sets several per request, and they rarely pass; the resets
// of runtime timers would take a twentieth of the time of a small request. So a later deadline replaces an earlier one only when
// the earlier one passes.
type deadline struct {
	set func(time.Time) error // sets the deadline of the connection

	mu    sync.Mutex
	at    time.Time // zero: none
	armed time.Time // deadline of the connection, not later than at; zero: none
}

func (d *deadline) change(at time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.at = at
	if at.IsZero() || !d.armed.IsZero() && !at.Before(d.armed) {
		return nil
	}
	d.armed = at
	return d.set(at)
}

// do reads or writes b, again after a deadline that was replaced by a later one.
func (d *deadline) do(once func([]byte) (int, error), b []byte) (done int, err error) {
	for {
		n, err := once(b[done:])
		done += n
		if err == nil || !errors.Is(err, os.ErrDeadlineExceeded) || !d.rearm() {
			return done, err
		}
	}
}

// rearm reports whether the deadline has not passed, and sets it.
func (d *deadline) rearm() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.at.IsZero() && !time.Now().Before(d.at) {
		return false
	}
	d.armed = d.at
	return d.set(d.at) == nil
}
