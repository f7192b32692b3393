package redis

import (
	"context"
	"errors"
	"io"
	"net"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/snowraft/snowraft/internal/limits"
	"github.com/snowraft/snowraft/internal/places"
	"github.com/snowraft/snowraft/trust"
)

// maxAnswerBytes is the number of bytes of responses after which they are sent.
const maxAnswerBytes = 64 << 10

// maxLingerBytes is the number of bytes read from a client whose connection ends with an error.
const maxLingerBytes = 1 << 20

// Reasons for which a connection waits.
const (
	waitsForCommand = iota // for the next one to begin
	waitsForRest           // of a command that has begun
	waitsForBackend        // for its calls, which have timeouts of their own
)

// conn is the connection of one client. Only the goroutine that serves it uses it, but
// for what check and endReading use.
type conn struct {
	s   *Server
	net net.Conn
	w   *writer
	id  int64

	// state holds what the connection waits for, and since which beat: beat<<2 | waitsFor.
	state atomic.Int64

	began    time.Time  // the last read
	answered []answered // and not counted by the meters

	in   []byte   // what is read goes here
	have int      // so much of it was read and not served
	args [][]byte // of the command being served, parts of in
	out  []byte   // answers that were not sent yet

	place // where it is served

	seat  *places.Place // among all connections
	spoke bool          // a command has come
	rest  int64         // since which beat a command is incomplete, plus 1; 0: none is

	caller      *trust.Principal // nil in an open cluster
	callOf      *context.Context // what callContext was made of
	calledAs    *trust.Principal
	callContext context.Context

	name    string // as the client calls itself
	closing bool   // after what is in out
	keys    keys
	pending pending
	why     error // what the command being served was refused for
	failure error // of the Backend, that passes; what comes in the same turn need not wait for it too
	ids     []uint64
}

func newConn(s *Server, nc net.Conn) *conn {
	c := &conn{s: s, net: nc, w: newWriter(s, nc), id: s.lastID.Add(1)}
	c.logout()
	c.wait(waitsForCommand)
	return c
}

func (c *conn) wait(what int64) { c.state.Store(c.s.beats.Load()<<2 | what) }

// check closes the connection if its client has stalled for too long.
func (c *conn) check(now int64) {
	state := c.state.Load()
	stalls, since := state&3 == waitsForRest, state>>2
	if blocked := c.w.blockedSince.Load(); blocked > 0 {
		stalls, since = true, blocked-1
	}
	if stalls && time.Duration(now-since)*beat > stallTimeout {
		c.cut()
	}
}

// endReading lets what has arrived be answered and nothing more be read.
func (c *conn) endReading() { _ = c.net.SetReadDeadline(time.Unix(1, 0)) }

// serve answers commands until either side closes.
func (c *conn) serve() {
	defer func() { _ = c.net.Close() }()
	defer c.survive()
	if c.handshake() == nil {
		c.end(c.read())
	}
}

// survive is to be deferred: a panic ends nothing but the connection.
func (c *conn) survive() {
	if r := recover(); r != nil {
		c.s.cfg.Logger.Error("command caused a panic; please report it",
			"client", c.net.RemoteAddr(), "panic", r, "stack", string(debug.Stack()))
	}
}

// end sees to it that the client gets the last answers. The error, which may be
// nil, is why they are the last.
func (c *conn) end(err error) {
	err = errors.Join(err, c.w.drain())
	if _, ok := errors.AsType[protocolError](err); ok {
		if c.s.strange.Allow() {
			c.s.cfg.Logger.Info("client does not speak the Redis protocol; closing the connection",
				"client", c.net.RemoteAddr(), "error", err)
		}
		c.linger()
	}
}

// linger reads on for a while, for what was not read when a connection is closed
// makes the system drop the answer that says why it was.
func (c *conn) linger() {
	half, ok := c.net.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil {
		return
	}
	c.wait(waitsForRest)
	_, _ = io.CopyN(io.Discard, c.net, maxLingerBytes)
}

// read reads and answers until either side closes.
func (c *conn) read() error {
	for {
		c.waitForClient()
		n, err := c.net.Read(c.space())
		c.began = time.Now()
		if n == 0 && err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		c.have += n
		if err := c.turn(); err != nil || c.closing {
			return err
		}
	}
}

func (c *conn) waitForClient() {
	if c.have == 0 {
		c.wait(waitsForCommand)
		return
	}
	if c.rest == 0 {
		c.rest = c.s.beats.Load() + 1
	}
	c.state.Store((c.rest-1)<<2 | waitsForRest) // a byte now and then does not prolong it
}

func (c *conn) space() []byte {
	if c.in == nil {
		c.in = make([]byte, minBufferBytes)
	}
	return c.in[c.have:]
}

// turn answers what was read, and keeps the begin of a command that is not complete.
func (c *conn) turn() error {
	c.wait(waitsForBackend)
	c.failure = nil
	c.servePending() // what a loop left
	_, err := c.answer(true)
	if flushErr := c.flush(); flushErr != nil || err != nil {
		return errors.Join(err, flushErr)
	}
	return c.w.wait()
}

// Remaining commands, when others were answered without waiting.
const (
	nothing      = iota // that is complete
	numbersOfOne        // the commands that are pending, of one key
	other               // what comes next
)

// answer serves the commands that were read, unless it must not wait: then up to
// one that may have to, and it returns what is left. An error is sent to the client.
func (c *conn) answer(mayWait bool) (left int, err error) {
	used := 0
	defer func() { c.keepRest(used) }()
	for !c.closing {
		if len(c.out) > maxAnswerBytes {
			switch err := c.flush(); {
			case err != nil:
				return nothing, err
			case !mayWait: // others have waited long enough
				return other, nil
			}
			if err := c.w.wait(); err != nil {
				return nothing, err
			}
		}
		args, n, err := parse(c.in[used:c.have], c.args[:0])
		if errors.Is(err, errIncomplete) {
			if c.have-used < limits.RequestBytes {
				break
			}
			err = errTooBig
		}
		if err != nil && mayWait {
			c.servePending()
			c.refuse("ERR " + err.Error())
			c.count(unserved, c.why)
			return nothing, err
		}
		if err != nil {
			return other, nil
		}
		c.args, c.rest = args, 0
		if len(args) == 0 {
			used += n
			continue
		}
		if c.s.cfg.Authenticate == nil {
			c.speak(0)
		}
		cmd := lookup(args[0])
		if cmd != nil && cmd.waits && c.join(cmd, args) {
			used += n
			continue
		}
		if left := c.settle(mayWait); left != nothing {
			return left, nil
		}
		if cmd != nil && cmd.calls && !mayWait {
			return other, nil
		}
		used += n
		c.command(cmd, args)
	}
	return c.settle(mayWait), nil
}

// settle answers the commands that are pending.
func (c *conn) settle(mayWait bool) (left int) {
	switch {
	case mayWait:
		c.servePending()
	case c.tryPending():
	case len(c.pending.groups) == 1:
		return numbersOfOne
	default:
		return other
	}
	return nothing
}

// flush sends the answers, or leaves them to be sent. It does not wait.
func (c *conn) flush() error {
	c.meter()
	if len(c.out) == 0 {
		return nil
	}
	err := c.w.write(c.out)
	if c.out = c.out[:0]; cap(c.out) > 2*maxAnswerBytes {
		c.out = nil
	}
	return err
}

// keepRest moves what was not used to the begin of the buffer, which is as large as
// the command that begins there or the client's pipelines request.
func (c *conn) keepRest(used int) {
	rest := c.in[used:c.have]
	switch size := len(c.in); {
	case c.have == size && size < limits.RequestBytes:
		// It was filled: there is more to come.
		c.in = make([]byte, 2*size)
	case c.have < size/4 && size > minBufferBytes:
		c.in = make([]byte, size/2)
	}
	c.have = copy(c.in, rest)
}
