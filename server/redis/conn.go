package redis

import (
	"context"
	"errors"
	"io"
	"net"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/snowraft/snowraft/internal/limits"
	clients "github.com/snowraft/snowraft/server/conn"
	"github.com/snowraft/snowraft/trust"
)

// maxAnswerBytes is the size of unsent answers at which they are sent, in bytes.
const maxAnswerBytes = 64 << 10

// maxKept is the largest size of the memory for answers that an idle connection keeps, in bytes.
const maxKept = 8 << 10

// maxLingerBytes is the largest number of bytes read from a client after a protocol error.
const maxLingerBytes = 1 << 20

// States in which a connection waits.
const (
	waitsForCommand = iota // the next command has not begun
	waitsForRest           // a command has begun
	waitsForBackend        // a call of the Backend; calls have their own timeouts
)

// conn is the connection of one client. One goroutine reads and serves its commands. If the last commands of a pipeline need
// numbers that are not in memory, a shared call answers them while that goroutine reads on.
type conn struct {
	s   *Server
	net net.Conn
	w   *writer
	id  int64

	input input

	// state holds the waiting state and the beat at which it began: beat<<2 | waitsFor.
	state atomic.Int64

	slot *clients.Conn // nil without limits

	// serving is held by the goroutine that serves the connection, and by a shared call from its start until it has answered.
	// Only its holder uses the following fields.
	serving sync.Mutex

	began    time.Time  // time of the last read
	answered []answered // answers not yet reported to the meters

	in      []byte   // input buffer; the reading goroutine fills it beyond have without holding serving
	have    int      // number of bytes of in that are not served
	charged int      // bytes of in that the slot counts
	args    [][]byte // words of the command being served; parts of in
	out     []byte   // unsent answers

	rest int64 // beat since which a command is incomplete, plus 1; 0 if none is

	caller      *trust.Principal // nil if not even a caller without a token could be authenticated
	callOf      *context.Context // base of callContext
	calledAs    *trust.Principal
	callContext context.Context

	protocol    int    // resp2 or resp3
	name        string // name that the client chose
	closing     bool   // close after out has been sent
	keys        keys
	strict      string // key whose numbers came from the leader last; TryNext would be in vain
	pending     pending
	transaction transaction
	why         error // error of the command being served
	failure     error // transient error of the Backend; the other commands of the input fail with it
	ids         []uint64
}

func (s *Server) newConn(nc net.Conn) *conn {
	slot := clients.Of(nc)
	c := &conn{s: s, net: nc, slot: slot, w: newWriter(s, nc, slot), input: newInput(nc, func() bool { return slot == nil || slot.Known() }), id: s.lastID.Add(1), protocol: resp2}
	slot.SetIdle(c.idle)
	c.logout()
	c.wait(waitsForCommand)
	return c
}

func (c *conn) wait(what int64) { c.state.Store(c.s.beats.Load()<<2 | what) }

// check closes the connection if its client has stalled for too long, or is gone.
func (c *conn) check(now int64) {
	state := c.state.Load()
	if state&3 != waitsForBackend && state>>2 == now-1 && c.input.ended() {
		clients.EndReading(c.net) // commands that have arrived are still answered
		return
	}
	stalls, since := state&3 == waitsForRest, state>>2
	if blocked := c.w.blockedSince.Load(); blocked > 0 {
		stalls, since = true, blocked-1
	}
	if stalls && time.Duration(now-since)*beat > stallTimeout {
		clients.Cut(c.net)
	}
}

// Serve answers commands until either side closes the connection. It implements [clients.Client].
func (c *conn) Serve() {
	defer func() { _ = c.net.Close() }()
	defer c.survive()
	if c.handshake() == nil {
		c.slot.Requested()
		c.end(c.read())
	}
}

// survive recovers from a panic, so that the panic ends only this connection. It must be deferred.
func (c *conn) survive() {
	if r := recover(); r != nil {
		c.s.cfg.Logger.Error("command caused a panic; please report it",
			"client", c.net.RemoteAddr(), "panic", r, "stack", string(debug.Stack()))
		c.closing = true
		clients.Cut(c.net)
	}
}

// end waits until the client has the last answers. The error is the reason for the end; it may be nil.
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

// linger reads further input for a while. If a connection is closed with unread input, the system drops the answer with the
// reason.
func (c *conn) linger() {
	half, ok := c.net.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil {
		return
	}
	c.wait(waitsForRest)
	_, _ = io.CopyN(io.Discard, c.net, maxLingerBytes)
}

// read reads and serves commands until either side closes the connection.
func (c *conn) read() (err error) {
	c.waitForClient()
	c.input.each(c.space, func(n int, failure error) (more bool) {
		more, err = c.received(n, failure)
		return more
	})
	return err
}

// received serves the commands of a read. When the connection ends, it returns false, with the reason if there is one.
func (c *conn) received(n int, err error) (more bool, _ error) {
	began := time.Now()
	c.slot.Forget()
	c.serving.Lock() // waits for a shared call
	if c.closing || n == 0 && err != nil {
		if errors.Is(err, io.EOF) {
			err = nil
		}
		return false, err
	}
	c.have += n
	c.began = began
	shared, err := c.serveInput()
	if shared {
		return true, nil
	}
	if err != nil || c.closing {
		return false, err
	}
	c.waitForClient()
	c.serving.Unlock()
	return true, nil
}

func (c *conn) waitForClient() {
	if c.have == 0 {
		c.wait(waitsForCommand)
		return
	}
	if c.rest == 0 {
		c.rest = c.s.beats.Load() + 1
	}
	c.state.Store((c.rest-1)<<2 | waitsForRest) // a later byte of the same command does not extend the time
}

func (c *conn) space() []byte {
	if c.in == nil {
		c.in = make([]byte, minBufferBytes)
	}
	return c.in[c.have:]
}

// serveInput serves the received commands and keeps the beginning of an incomplete command. If shared is true, it has handed the
// last commands, with c.serving, to a shared call.
func (c *conn) serveInput() (shared bool, err error) {
	c.wait(waitsForBackend)
	c.failure = nil
	if err = c.answer(); err == nil {
		if shared, err = c.share(); shared || err != nil {
			return shared, err
		}
	}
	c.servePending()
	if flushErr := c.flush(); flushErr != nil || err != nil {
		return false, errors.Join(err, flushErr)
	}
	return false, c.w.wait()
}

// answer serves the commands that have been read, except for INCRs and INCRBYs at their end, which stay pending. Errors of the
// input are sent to the client.
func (c *conn) answer() error {
	used := 0
	defer func() { c.keepRest(used) }()
	for !c.closing {
		if len(c.out) > maxAnswerBytes {
			c.flushOrClose()
			continue
		}
		args, n, err := parse(c.in[used:c.have], c.args[:0])
		if errors.Is(err, errIncomplete) {
			if c.have-used < c.maxInput() {
				break
			}
			err = errTooBig
		}
		if err != nil {
			c.servePending()
			c.refuse("ERR " + err.Error())
			c.count(unserved, c.why)
			return err
		}
		c.args, c.rest = args, 0
		used += n
		if len(args) == 0 {
			continue
		}
		if c.caller.IsOpen() {
			c.keepSlot(c.caller)
		}
		cmd := c.find(args[0])
		if cmd != nil && cmd.waits && c.join(cmd, args) {
			continue
		}
		c.servePending()
		c.command(cmd, args)
	}
	return nil
}

// flush sends the answers, or queues them for sending. It does not wait.
func (c *conn) flush() error {
	c.meter()
	if len(c.out) == 0 {
		return nil
	}
	err := c.w.write(c.out)
	c.shrink()
	return err
}

// shrink keeps small memory only for the next commands, because no other is counted.
func (c *conn) shrink() {
	if c.out = c.out[:0]; cap(c.out) > maxKept {
		c.out = nil
	}
	if cap(c.args) > maxKept/64 {
		c.args = nil
	}
	if len(c.pending.incrs) == 0 && cap(c.pending.incrs) > maxKept/64 {
		c.pending = pending{}
	}
}

// keepRest moves the unused input to the beginning of the buffer. The buffer is as large as the incomplete command, or as the
// client's pipelines require.
func (c *conn) keepRest(used int) {
	rest := c.in[used:c.have]
	switch size := len(c.in); {
	case c.have == size && size < c.maxInput():
		// The buffer was full, so more input is expected.
		c.in = make([]byte, 2*size)
	case c.have < size/4 && size > minBufferBytes:
		c.in = make([]byte, size/2)
	}
	c.slot.Charge(int64(len(c.in) - c.charged))
	c.charged = len(c.in)
	c.have = copy(c.in, rest)
}

// maxInput returns the largest size of a command, in bytes. A command of a caller without a token is short.
func (c *conn) maxInput() int {
	if !c.caller.IsOpen() && c.caller.TokenID() == 0 {
		return minBufferBytes
	}
	return limits.RequestBytes
}
