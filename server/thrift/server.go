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
	cfg Config
	// strange limits the log lines about connections that do not speak the protocol.
	strange lines.Limit
	open    context.Context // ends when Close begins
	close   func()
	lasts   context.Context // parent of the contexts of all calls; its end closes their connections
	end     func()

	mu      sync.Mutex     // held when Serve and Close begin
	running sync.WaitGroup // Serve and the connections
}

// New returns a server. It serves after Serve is called with a listener.
func New(cfg Config) *Server {
	s := &Server{cfg: cfg}
	s.open, s.close = context.WithCancel(context.Background())
	s.lasts, s.end = context.WithCancel(context.Background())
	return s
}

// closing reports whether Close was called.
func (s *Server) closing() bool { return s.open.Err() != nil }

// Serve serves the connections of a listener until Close, and closes the listener. It may be called once. It returns nil
// after Close, or the error of a listener that another party closed. The listener must bound the number of connections.
func (s *Server) Serve(l net.Listener) error {
	defer func() { _ = l.Close() }()
	s.mu.Lock()
	if s.closing() {
		s.mu.Unlock()
		return nil
	}
	s.running.Add(1)
	s.mu.Unlock()
	defer s.running.Done()
	defer context.AfterFunc(s.open, func() { _ = l.Close() })()
	return accept.Each(l, s.open.Done(), func(nc net.Conn) { s.running.Go(newConn(s, nc).serve) }, func(err error, pause time.Duration) {
		s.cfg.Logger.Warn("connection of Thrift client not accepted; retrying", "error", err, "retry_after", pause)
	})
}

// Close stops accepting connections, closes the idle connections, and waits for the requests in progress. When ctx ends, it
// cancels the remaining calls, closes their connections and returns the error of ctx.
func (s *Server) Close(ctx context.Context) error {
	s.mu.Lock()
	s.close()
	s.mu.Unlock()
	defer s.end()
	stop := context.AfterFunc(ctx, s.end)
	s.running.Wait()
	if !stop() {
		return ctx.Err()
	}
	return nil
}
