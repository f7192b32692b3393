package frontend

import (
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/snowraft/snowraft/trust"
)

// maxReadAhead is the largest number of bytes that the server reads from a client that reads no answers. Without this bound,
// calls that the client cancels would leave their answers in memory.
const maxReadAhead = 256 << 10

// apiListener is the listener of the API port. It counts the memory of answers and the watches per connection.
type apiListener struct {
	net.Listener
	budget  *budget
	all     *watches
	silence *silence
}

// atAPI returns the listener of the API port.
func (s *Server) atAPI(l net.Listener) *apiListener {
	return &apiListener{l, s.budget, &s.watches, &s.silence}
}

// Accept implements net.Listener.
func (l *apiListener) Accept() (net.Conn, error) {
	nc, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &apiConn{Conn: nc, of: l.all, silence: l.silence, seat: sit(nc)}
	c.resumed.L = &c.mu
	c.account = l.budget.account(c)
	return c, nil
}

// apiConn is a connection to the API port. One goroutine reads from it, and another writes to it.
type apiConn struct {
	net.Conn
	account  *account
	seat     *seat
	of       *watches
	caller   atomic.Pointer[trust.Principal] // last caller with a valid token or certificate; nil before its first call
	sent     atomic.Int64                    // bytes that the system accepted
	writing  atomic.Bool
	silence  *silence
	free     atomic.Int64 // share of this connection in silence.free
	silences atomic.Int64 // calls that ended without a message
	gone     atomic.Bool
	used     atomic.Pointer[func(time.Time)] // ends the use of the caller's token; nil before its first call

	ahead, seen int64 // bytes read since sent changed, and the last seen value of sent; used only by the reader

	paused  atomic.Bool // the reader waits
	mu      sync.Mutex
	resumed sync.Cond
	closed  bool

	watches, strange int // open watches, and those that count as strangers'; guarded by of.mu
}

// apiAddr is the address of a client. A call finds its connection through it.
type apiAddr struct {
	net.Addr
	account *account
}

// sits returns the seat of a connection; nil for a call inside the process.
func (c *apiConn) sits() *seat {
	if c == nil {
		return nil
	}
	return c.seat
}

// isKnown reports whether the last caller of the connection is still authorized.
func (c *apiConn) isKnown() bool {
	p := c.caller.Load()
	return p != nil && !p.Gone()
}

// speak keeps the connection's place for an authorized caller. The place counts as the first caller's until the connection is
// closed.
func (c *apiConn) speak(p *trust.Principal) error {
	if c == nil || c.isKnown() {
		return nil
	}
	if err := c.seat.keep(p); err != nil {
		return err
	}
	c.caller.Store(p)
	c.of.known(c)
	return nil
}

// RemoteAddr implements net.Conn.
func (c *apiConn) RemoteAddr() net.Addr { return &apiAddr{c.Conn.RemoteAddr(), c.account} }

// Read implements net.Conn.
func (c *apiConn) Read(b []byte) (int, error) {
	if sent := c.sent.Load(); sent != c.seen || !c.writing.Load() {
		c.seen, c.ahead = sent, 0
	} else if c.ahead >= maxReadAhead {
		c.pause()
	}
	n, err := c.Conn.Read(b)
	c.ahead += int64(n)
	return n, err
}

// pause waits until a pending write has finished or the connection is closed.
func (c *apiConn) pause() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.paused.Store(true)
	defer c.paused.Store(false)
	for c.writing.Load() && !c.closed {
		c.resumed.Wait()
	}
}

// Write implements net.Conn.
func (c *apiConn) Write(b []byte) (int, error) {
	c.writing.Store(true)
	n, err := c.Conn.Write(b)
	c.sent.Add(int64(n))
	c.writing.Store(false)
	if c.paused.Load() {
		c.resume(false)
	}
	return n, err
}

func (c *apiConn) resume(closed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = c.closed || closed
	c.resumed.Signal()
}

// Close implements net.Conn.
func (c *apiConn) Close() error {
	err := c.Conn.Close()
	c.gone.Store(true)
	c.unuse(nil)
	c.silence.closed(c)
	c.resume(true)
	c.account.end()
	return err
}
