package conn

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	"github.com/snowraft/snowraft/internal/accept"
)

// Client is a connection as a [Server] serves it.
type Client interface {
	comparable
	// Serve answers requests until the connection ends, and closes it.
	Serve()
}

// Server serves the connections of its listeners, each on a goroutine. Its methods may be called from any goroutine.
type Server[C Client] struct {
	// Closing ends when Close begins, and Lasts when it cuts off or has ended all connections. Lasts is the parent of the contexts of
	// all requests.
	Closing, Lasts context.Context
	close, end     context.CancelFunc

	mu        sync.Mutex
	listeners []net.Listener
	clients   map[C]net.Conn
	running   sync.WaitGroup
}

// NewServer returns a Server. It serves after Serve is called.
func NewServer[C Client]() *Server[C] {
	s := &Server[C]{clients: make(map[C]net.Conn)}
	s.Closing, s.close = context.WithCancel(context.Background()) //nolint:gosec // Close calls it
	s.Lasts, s.end = context.WithCancel(context.Background())     //nolint:gosec // Close calls it
	return s
}

// ServeConns serves the connections of a listener, as clients that begin returns, until Close, and closes the listener. It may be
// called with several listeners at a time. It returns nil after Close, or the error of a listener that another party closed.
func (s *Server[C]) ServeConns(l net.Listener, begin func(net.Conn) C, logger *slog.Logger) error {
	defer func() { _ = l.Close() }()
	s.mu.Lock()
	s.listeners = append(s.listeners, l)
	closed := s.Closing.Err() != nil
	s.mu.Unlock()
	if closed {
		return nil
	}
	return accept.Each(l, s.Closing.Done(), func(nc net.Conn) {
		c := begin(nc)
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.Closing.Err() != nil {
			_ = nc.Close()
			return
		}
		s.clients[c] = nc
		s.running.Go(func() {
			serve(c, logger)
			s.mu.Lock()
			defer s.mu.Unlock()
			delete(s.clients, c)
		})
	}, func(err error, pause time.Duration) {
		logger.Warn("connection not accepted; retrying", "port", l.Addr(), "error", err, "retry_after", pause)
	})
}

// serve serves a client. A panic ends its connection alone.
func serve[C Client](c C, logger *slog.Logger) {
	defer func() {
		if r := recover(); r != nil {
			logger.Error("connection caused a panic; please report it", "panic", r, "stack", string(debug.Stack()))
		}
	}()
	c.Serve()
}

// Each calls do with each client. do must not wait.
func (s *Server[C]) Each(do func(C, net.Conn)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c, nc := range s.clients {
		do(c, nc)
	}
}

// Clients returns the number of clients.
func (s *Server[C]) Clients() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.clients)
}

// Close stops accepting connections, lets requests that have arrived be answered, and waits for the end of all connections. When ctx
// ends, it ends Lasts, cuts off the connections and returns the error of ctx.
func (s *Server[C]) Close(ctx context.Context) error {
	s.mu.Lock()
	s.close()
	for _, l := range s.listeners {
		_ = l.Close()
	}
	s.mu.Unlock()
	s.Each(func(_ C, nc net.Conn) { EndReading(nc) })
	defer s.end()
	stop := context.AfterFunc(ctx, func() {
		s.end()
		s.Each(func(_ C, nc net.Conn) { Cut(nc) })
	})
	s.running.Wait()
	if !stop() {
		return ctx.Err()
	}
	return nil
}

// EndReading ends the reads of a connection.
func EndReading(nc net.Conn) { _ = nc.SetReadDeadline(time.Unix(1, 0)) }

// Cut ends a connection without waiting: neither for the client, as a regular close of TLS would, nor for a read. It does not free the
// connection if it has a file descriptor, so that its reader closes it.
func Cut(nc net.Conn) {
	if secured, ok := nc.(*tls.Conn); ok {
		nc = secured.NetConn()
	}
	if sc, ok := nc.(syscall.Conn); ok {
		if raw, err := sc.SyscallConn(); err == nil {
			_ = raw.Control(func(fd uintptr) { shutdown(fd) })
			return
		}
	}
	_ = nc.Close()
}
