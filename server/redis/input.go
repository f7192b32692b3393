package redis

import (
	"errors"
	"io"
	"net"
	"syscall"
)

// promptReads is the number of reads after which a connection takes a short read for the end of what has arrived.
const promptReads = 16

// input reads from a connection. On a connection with a file descriptor it leaves out the read that would only report that
// nothing more has arrived, which is a tenth of the processor time of a command. A read that filled less than its buffer has
// emptied the connection, and the poller then reports what arrives later, because it is edge-triggered: see epoll(7). It does not
// report the end of the stream again if that had arrived before the read. Therefore the first reads of a connection leave out
// nothing, so that a short script ends at once, and ended finds the end of others.
type input struct {
	conn net.Conn
	raw  syscall.RawConn // nil without a file descriptor, for example with TLS
}

func newInput(nc net.Conn) input {
	sc, ok := nc.(syscall.Conn)
	if !ok {
		return input{conn: nc}
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return input{conn: nc}
	}
	return input{conn: nc, raw: raw}
}

// each reads into the buffers of space and calls received with the result of each read, until it returns false. Meanwhile,
// Close of a connection with a file descriptor waits, but shutdown does not.
func (i input) each(space func() []byte, received func(n int, err error) (more bool)) {
	if i.raw == nil {
		for received(i.conn.Read(space())) {
		}
		return
	}
	reads, ended := 0, false
	err := i.raw.Read(func(fd uintptr) (done bool) {
		for {
			b := space()
			n, err := syscall.Read(int(fd), b)
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
			if ended = !received(n, err); ended {
				return true
			}
			if reads++; n < len(b) && reads > promptReads {
				return false
			}
		}
	})
	if !ended {
		received(0, err)
	}
}

// ended reports whether the client has sent all that it will send, and all of that has been read.
func (i input) ended() (ended bool) {
	if i.raw == nil {
		return false
	}
	_ = i.raw.Control(func(fd uintptr) {
		var b [1]byte
		n, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		ended = n == 0 && err == nil
	})
	return ended
}

// shutdown ends reads and writes without waiting. The connection must have a file descriptor.
func (i input) shutdown() {
	_ = i.raw.Control(func(fd uintptr) { _ = syscall.Shutdown(int(fd), syscall.SHUT_RDWR) })
}
