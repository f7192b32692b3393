package thrift

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/snowraft/snowraft/internal/accept"
	"github.com/snowraft/snowraft/internal/lines"
)

const (
	callTimeout  = 5 * time.Second  // bound for a Backend call
	stallTimeout = 30 * time.Second // bound for the arrival of a message that has begun, and for the client to take the reply
)

// Server serves the connections of one listener. Its methods may be called from any goroutine.
type Server struct {
	cfg    Config
	meters map[string]Meter
	// strange limits the log lines about connections that do not speak the protocol.
	strange lines.Limit
	lasts   context.Context // parent of the contexts of all calls
	end     func()          // cancels lasts

	quit    chan struct{} // closed when Close begins
	running sync.WaitGroup

	mu       sync.Mutex
	listener net.Listener
	conns    map[*conn]struct{}
}

// New returns a server. It serves after Serve is called with a listener.
func New(cfg Config) *Server {
	s := &Server{cfg: cfg, meters: map[string]Meter{}, conns: map[*conn]struct{}{}, quit: make(chan struct{})}
	s.lasts, s.end = context.WithCancel(context.Background())
	for name := range methods {
		s.meters[name] = cfg.Meter(name)
	}
	return s
}

// closing reports whether Close was called.
func (s *Server) closing() bool {
	select {
	case <-s.quit:
		return true
	default:
		return false
	}
}

// Serve serves the connections of a listener until Close, and closes the listener. It may be called once. It returns nil
// after Close, or the error of a listener that another party closed. The listener must bound the number of connections.
func (s *Server) Serve(l net.Listener) error {
	defer func() { _ = l.Close() }()
	s.mu.Lock()
	s.listener = l
	s.mu.Unlock()
	if s.closing() {
		return nil
	}
	return accept.Each(l, s.quit, s.admit, func(err error, pause time.Duration) {
		s.cfg.Logger.Warn("connection of Thrift client not accepted; retrying", "error", err, "retry_after", pause)
	})
}

// admit serves a connection in its own goroutine.
func (s *Server) admit(nc net.Conn) {
	c := newConn(s, nc)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing() {
		_ = nc.Close()
		return
	}
	s.conns[c] = struct{}{}
	s.running.Go(func() {
		c.serve()
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.conns, c)
	})
}

// Close stops accepting connections, closes the idle connections, and waits for the requests in progress. When ctx ends, it
// cancels the remaining calls, closes their connections and returns the error of ctx.
func (s *Server) Close(ctx context.Context) error {
	s.mu.Lock()
	if !s.closing() {
		close(s.quit)
	}
	if s.listener != nil {
		_ = s.listener.Close()
	}
	for c := range s.conns {
		_ = c.net.SetReadDeadline(time.Unix(1, 0))
	}
	s.mu.Unlock()
	defer s.end()
	stop := context.AfterFunc(ctx, func() {
		s.end()
		s.mu.Lock()
		defer s.mu.Unlock()
		for c := range s.conns {
			c.cut()
		}
	})
	s.running.Wait()
	if !stop() {
		return ctx.Err()
	}
	return nil
}
