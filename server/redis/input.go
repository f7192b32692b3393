package redis

import (
	"errors"
	"io"
	"net"
	"syscall"
)

// plainReads is the number of a connection's first reads that leave out nothing.
const plainReads = 16

// input reads from a connection. On a connection with a file descriptor it leaves out the read that would only report that
// nothing more has arrived, which is a tenth of the processor time of a command. A read that filled less than its buffer has
// emptied the connection, and the poller then reports what arrives later, because it is edge-triggered: see epoll(7). It does not
// report the end of the stream again if that had arrived before the read. Therefore the first reads of a connection leave out
// nothing, so that a short script ends at once, and ended finds the end of others. Nor do the reads of unknown callers, whose input
// the connection counts.
type input struct {
	conn  net.Conn
	known func() bool     // reports whether the caller is known
	raw   syscall.RawConn // nil without a file descriptor, for example with TLS
}

func newInput(nc net.Conn, known func() bool) input {
	i := input{conn: nc, known: known}
	if sc, ok := nc.(syscall.Conn); ok {
		if raw, err := sc.SyscallConn(); err == nil {
			i.raw = raw
		}
	}
	return i
}

// each reads into the buffers of space and calls received with the result of each read, until it returns false.
func (i input) each(space func() []byte, received func(n int, err error) (more bool)) {
	for reads := 0; ; reads++ {
		if i.raw != nil && reads >= plainReads && i.known() {
			if !i.eachRaw(space, received) {
				return
			}
		} else if !received(i.conn.Read(space())) {
			return
		}
	}
}

// eachRaw is each while the caller is known. It returns false if received did. Meanwhile, Close of the connection waits, but shutdown
// does not.
func (i input) eachRaw(space func() []byte, received func(n int, err error) (more bool)) (more bool) {
	more = true
	err := i.raw.Read(func(fd uintptr) (done bool) {
		for i.known() {
			b := space()
			n, err := readSocket(fd, b)
			switch {
			case errors.Is(err, syscall.EINTR):
				continue
			case errors.Is(err, syscall.EAGAIN):
				return false
			case err != nil:
				n = 0
			case n == 0:
				err = io.EOF
			}
			if more = received(n, err); !more {
				return true
			}
			if n < len(b) {
				return false
			}
		}
		return true
	})
	if more && err != nil {
		return received(0, err)
	}
	return more
}

// ended reports whether the client has sent all that it will send, and all of that has been read.
func (i input) ended() (ended bool) {
	if i.raw == nil {
		return false
	}
	_ = i.raw.Control(func(fd uintptr) {
		ended = endedSocket(fd)
	})
	return ended
}
