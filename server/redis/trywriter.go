package redis

import (
	"errors"
	"net"
	"syscall"
)

// tryWriter writes to a connection without waiting, which net.Conn cannot. One goroutine at a time may use it.
type tryWriter struct {
	conn syscall.RawConn
	once func(fd uintptr) (done bool) // writes b, and sets n and err; made once, because a new closure for each write is garbage
	b    []byte
	n    int
	err  error
}

// newTryWriter returns the tryWriter of a connection; nil if the connection has no file descriptor, for example with TLS.
func newTryWriter(nc net.Conn) *tryWriter {
	sc, ok := nc.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return nil
	}
	w := &tryWriter{conn: raw}
	w.once = w.writeOnce
	return w
}

// write writes as much as the system takes without waiting.
func (w *tryWriter) write(b []byte) (n int, err error) {
	w.b, w.n, w.err = b, 0, nil
	err = errors.Join(w.conn.Write(w.once), w.err)
	w.b = nil
	return w.n, err
}

func (w *tryWriter) writeOnce(fd uintptr) (done bool) {
	for {
		n, err := writeSocket(fd, w.b)
		switch {
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EAGAIN):
			return true
		default:
			w.n, w.err = n, err
			return true
		}
	}
}
