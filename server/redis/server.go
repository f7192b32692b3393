package redis

import (
	"context"
	"errors"
	"maps"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/snowraft/snowraft/internal/accept"
	"github.com/snowraft/snowraft/internal/lines"
	"github.com/snowraft/snowraft/internal/share"
	"github.com/snowraft/snowraft/trust"
)

const (
	beat = time.Second // interval of the checks of all connections

	callTimeout  = 5 * time.Second  // bound for a Backend call, which may take one beat longer; a member waits 2 s for a leader
	stallTimeout = 30 * time.Second // bound for the arrival of a command, and for the client to take a part of its answers
)

// Server serves the Redis protocol of one member or gateway. Its methods may be called from any goroutine.
type Server struct {
	cfg    Config
	meters []Meter         // indexed by command
	beats  atomic.Int64    // beats since the start: a coarse clock
	lasts  context.Context // lives until the Backend's calls are canceled
	cancel context.CancelFunc
	// call is the parent context of the Backend's calls. A new context for each command would cost more than most commands.
	// Therefore all calls of one beat share a context, and its deadline is one beat later than any of them needs.
	call   atomic.Pointer[context.Context]
	lastID atomic.Int64
	// strange limits the log lines about connections that do not speak the protocol.
	strange lines.Limit
	calls   *share.Calls[numbers]
	// anonymous is the caller of connections without a token.
	anonymous *trust.Principal

	mu       sync.Mutex
	listener net.Listener
	closing  bool
	conns    map[*conn]struct{}
	running  sync.WaitGroup // connections in progress
	quit     chan struct{}  // closed when Close begins
}

// New returns a server. It serves after Serve is called with a listener.
func New(cfg Config) *Server {
	s := &Server{cfg: cfg.withDefaults(), conns: make(map[*conn]struct{}), quit: make(chan struct{})}
	s.meters = make([]Meter, len(commands)+1)
	for _, cmd := range append(slices.Collect(maps.Values(commands)), unserved) {
		s.meters[cmd.index] = s.cfg.Meter(cmd.name)
	}
	s.lasts, s.cancel = context.WithCancel(context.Background())
	s.renewCall()
	s.calls = newCalls(s)
	s.anonymous, _ = s.cfg.Authenticate(s.lasts, "") // nil has no rights
	return s
}

func (s *Server) renewCall() {
	ctx, cancel := context.WithTimeout(s.lasts, callTimeout+beat)
	context.AfterFunc(ctx, cancel) // not sooner, because calls may use ctx until its deadline
	s.call.Store(&ctx)
}

// Serve serves the connections of a listener until Close, and closes the listener. It may be called once. It returns nil
// after Close, or the error of the listener. Connections that were accepted stay open until Close.
func (s *Server) Serve(l net.Listener) error {
	defer func() { _ = l.Close() }()
	s.mu.Lock()
	switch {
	case s.closing:
		s.mu.Unlock()
		return nil
	case s.listener != nil:
		s.mu.Unlock()
		return errors.New("a Redis listener exists already")
	}
	s.listener = l
	s.mu.Unlock()
	go s.keepTime()
	return accept.Each(l, s.quit, s.admit, func(err error, pause time.Duration) {
		s.cfg.Logger.Warn("connection of Redis client not accepted; retrying", "error", err, "retry_after", pause)
	})
}

// admit serves a connection.
func (s *Server) admit(nc net.Conn) {
	c := newConn(s, nc)
	s.mu.Lock()
	closing := s.closing
	if !closing {
		s.conns[c] = struct{}{}
		s.running.Add(1)
	}
	s.mu.Unlock()
	if closing {
		_ = nc.Close()
		return
	}
	go func() {
		c.serve()
		s.forget(c)
	}()
}

// RefuseClient writes the reason for the refusal of a client for which there is no slot. The send buffer is empty, so the write
// does not wait for the client.
func RefuseClient(nc net.Conn) { _, _ = nc.Write([]byte("-ERR max number of clients reached\r\n")) }

// forget removes a connection that has ended.
func (s *Server) forget(c *conn) {
	s.mu.Lock()
	delete(s.conns, c)
	s.mu.Unlock()
	s.running.Done()
}

// keepTime counts beats, and closes the connections that have stalled for too long.
func (s *Server) keepTime() {
	ticker := time.NewTicker(beat)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			now := s.beats.Add(1)
			s.renewCall()
			s.mu.Lock()
			for c := range s.conns {
				c.check(now)
			}
			s.mu.Unlock()
		case <-s.quit:
			return
		}
	}
}

// Close stops accepting connections, lets received commands be answered until ctx ends, and closes all connections. It
// returns the error of ctx if ctx ended first; remaining connections were then cut off, and the calls of the Backend
// canceled.
func (s *Server) Close(ctx context.Context) error {
	s.mu.Lock()
	if !s.closing {
		s.closing = true
		close(s.quit)
		if s.listener != nil {
			_ = s.listener.Close()
		}
	}
	for c := range s.conns {
		c.endReading()
	}
	s.mu.Unlock()

	ended := make(chan struct{})
	go func() {
		s.running.Wait()
		close(ended)
	}()
	defer s.cancel()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
	}
	s.cancel() // lets the Backend return
	s.mu.Lock()
	for c := range s.conns {
		c.cut()
	}
	s.mu.Unlock()
	<-ended
	return ctx.Err()
}
