package redis

import (
	"errors"
	"io"
	"net"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/tidwall/redcon"
)

// maxAnswerBytes is how much is answered before it is sent.
const maxAnswerBytes = 64 << 10

// maxLingerBytes is how much is read of a client whose connection ends with an error.
const maxLingerBytes = 1 << 20

// What a connection waits for.
const (
	waitsForCommand = iota // for the next one to begin
	waitsForRest           // of a command that has begun
	waitsForBackend        // for its calls, which have timeouts of their own
)

// conn is the connection of one client. Only its own goroutine uses it, but for
// what check and endReading use.
type conn struct {
	s   *Server
	net net.Conn
	w   *writer
	id  int64

	// state is what it waits for, and since which beat: beat<<2 | waitsFor.
	state atomic.Int64

	in   []byte   // what was read
	args [][]byte // of the command being served, parts of in
	out  []byte   // answers that were not sent yet

	name    string // as the client calls itself
	closing bool   // after what is in out
	keys    keys
	pending pending
	ids     []uint64
}

func newConn(s *Server, nc net.Conn) *conn {
	c := &conn{s: s, net: nc, w: newWriter(s, nc), id: s.lastID.Add(1)}
	c.wait(waitsForCommand)
	return c
}

func (c *conn) wait(what int64) { c.state.Store(c.s.beats.Load()<<2 | what) }

// check closes the connection if it has been waiting for too long.
func (c *conn) check(now int64) {
	state := c.state.Load()
	var limit time.Duration
	switch state & 3 {
	case waitsForCommand:
		limit = c.s.cfg.IdleTimeout
	case waitsForRest:
		limit = c.s.cfg.StallTimeout
	}
	since := state >> 2
	if blocked := c.w.blockedSince.Load(); blocked > 0 {
		since, limit = blocked-1, c.s.cfg.StallTimeout
	}
	if limit > 0 && time.Duration(now-since)*c.s.cfg.beat() > limit {
		_ = c.net.Close()
	}
}

// endReading lets what has arrived be answered and nothing more be read.
func (c *conn) endReading() { _ = c.net.SetReadDeadline(time.Unix(1, 0)) }

// serve answers commands until either side closes.
func (c *conn) serve() {
	defer func() {
		_ = c.net.Close()
		if r := recover(); r != nil {
			c.s.cfg.Logger.Error("a command made this member panic: please report it",
				"client", c.net.RemoteAddr(), "panic", r, "stack", string(debug.Stack()))
		}
	}()
	err := c.loop()
	err = errors.Join(err, c.w.drain())
	if _, ok := errors.AsType[protocolError](err); ok {
		c.s.cfg.Logger.Info("a client speaks something else than the Redis protocol: its connection is closed",
			"client", c.net.RemoteAddr(), "error", err)
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

func (c *conn) loop() error {
	c.in = make([]byte, minBufferBytes)
	have := 0
	for {
		c.wait(waitsForCommand)
		if have > 0 {
			c.wait(waitsForRest)
		}
		n, err := c.net.Read(c.in[have:])
		if n == 0 && err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		have += n
		c.wait(waitsForBackend)
		used, err := c.answer(c.in[:have])
		if flushErr := c.flush(); flushErr != nil || err != nil || c.closing {
			return errors.Join(err, flushErr)
		}
		if have = c.keepRest(used, have); have == maxCommandBytes {
			c.out = redcon.AppendError(c.out, "ERR "+errTooBig.Error())
			return errors.Join(errTooBig, c.flush())
		}
	}
}

// answer serves the commands in b. It returns how many bytes they took. An error
// is told to the client.
func (c *conn) answer(b []byte) (used int, err error) {
	for !c.closing {
		args, n, err := parse(b[used:], c.args[:0])
		if errors.Is(err, errIncomplete) {
			break
		}
		if err != nil {
			c.servePending()
			c.out = redcon.AppendError(c.out, "ERR "+err.Error())
			return used, err
		}
		used += n
		c.args = args
		if len(args) > 0 {
			c.command(args)
		}
		if len(c.out) > maxAnswerBytes {
			if err := c.flush(); err != nil {
				return used, err
			}
		}
	}
	c.servePending()
	return used, nil
}

// flush sends the answers, or leaves them to be sent.
func (c *conn) flush() error {
	if len(c.out) == 0 {
		return nil
	}
	err := c.w.write(c.out)
	if c.out = c.out[:0]; cap(c.out) > 2*maxAnswerBytes {
		c.out = nil
	}
	return err
}

// keepRest moves the begin of a command that was not complete to the begin of
// the buffer, and returns its length. The buffer is as large as that command or
// the client's pipelines ask for.
func (c *conn) keepRest(used, have int) int {
	rest := c.in[used:have]
	switch size := len(c.in); {
	case have == size && size < maxCommandBytes:
		// It was filled: there is more to come.
		c.in = make([]byte, 2*size)
	case have < size/4 && size > minBufferBytes:
		c.in = make([]byte, size/2)
	}
	return copy(c.in, rest)
}
