package redis

import (
	"errors"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// socket is a client's connection outside the runtime's poller, which would be woken for all input. A method that has to wait
// adds the connection to that poller; the connection then stays in both pollers.
//
// The loop releases the socket when no other goroutine uses it.
type socket struct {
	net.Conn // closed; still holds both addresses
	fd       int

	mu       sync.Mutex
	waits    net.Conn // connection for waiting calls; nil if not needed yet
	deadline time.Time
	closed   bool
}

// newSocket takes over a connection; nil if that is impossible.
func newSocket(nc net.Conn) *socket {
	c, ok := nc.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return nil
	}
	fd := -1
	if controlErr := raw.Control(func(old uintptr) { fd, err = duplicate(int(old)) }); controlErr != nil || err != nil {
		return nil
	}
	_ = nc.Close()
	return &socket{Conn: nc, fd: fd}
}

func duplicate(fd int) (int, error) { return unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0) }

func (s *socket) id() int32 { return int32(s.fd) } //nolint:gosec // the system's own numbers are this small

// Try writes as much as the system takes without waiting.
func (s *socket) Try(b []byte) (int, error) {
	for {
		n, err := unix.Write(s.fd, b)
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EAGAIN):
			return 0, nil
		default:
			return n, err
		}
	}
}

// waiting returns the connection in the runtime's poller, and creates it if necessary.
func (s *socket) waiting() (net.Conn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, net.ErrClosed
	}
	if s.waits != nil {
		return s.waits, nil
	}
	fd, err := duplicate(s.fd)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), "redis client")
	defer func() { _ = f.Close() }()
	if s.waits, err = net.FileConn(f); err != nil {
		return nil, err
	}
	return s.waits, s.waits.SetReadDeadline(s.deadline)
}

// Read implements net.Conn.
func (s *socket) Read(b []byte) (int, error) {
	c, err := s.waiting()
	if err != nil {
		return 0, err
	}
	return c.Read(b)
}

// Write implements net.Conn.
func (s *socket) Write(b []byte) (int, error) {
	c, err := s.waiting()
	if err != nil {
		return 0, err
	}
	return c.Write(b)
}

// SetReadDeadline implements net.Conn, for Read.
func (s *socket) SetReadDeadline(t time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deadline = t
	if s.waits == nil {
		return nil
	}
	return s.waits.SetReadDeadline(t)
}

// CloseWrite shuts down the sending direction.
func (s *socket) CloseWrite() error { return unix.Shutdown(s.fd, unix.SHUT_WR) }

// Close implements net.Conn. It stops all reading and writing. Any goroutine may call it until release.
func (s *socket) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return unix.Shutdown(s.fd, unix.SHUT_RDWR)
}

// release closes the file descriptors.
func (s *socket) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.waits != nil {
		_ = s.waits.Close()
	}
	_ = unix.Close(s.fd)
}
