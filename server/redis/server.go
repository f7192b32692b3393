package redis

import (
	"context"
	"maps"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/snowraft/snowraft/internal/lines"
	"github.com/snowraft/snowraft/internal/share"
	clients "github.com/snowraft/snowraft/server/conn"
	"github.com/snowraft/snowraft/trust"
)

const (
	beat = time.Second // interval of the checks of all connections

	callTimeout  = 5 * time.Second  // bound for a Backend call, which may take one beat longer; a member waits 2 s for a leader
	stallTimeout = 30 * time.Second // bound for the arrival of a command, and for the client to take a part of its answers
)

// Server serves the Redis protocol of one member or gateway. Its methods may be called from any goroutine.
type Server struct {
	*clients.Server[*conn]
	cfg     Config
	meters  []Meter      // indexed by command
	beats   atomic.Int64 // beats since the start: a coarse clock
	beating sync.Once
	// call is the context of the Backend's calls for callers without a token. A new context for each command would cost more than most
	// commands. Therefore all calls of one beat share a context, and its deadline is one beat later than any of them needs.
	call   atomic.Pointer[context.Context]
	lastID atomic.Int64
	// strange limits the log lines about connections that do not speak the protocol.
	strange lines.Limit
	calls   *share.Calls[Numbers]
	// anonymous is the caller of connections without a token.
	anonymous *trust.Principal
}

// New returns a server. It serves after Serve is called with a listener.
func New(cfg Config) *Server {
	s := &Server{Server: clients.NewServer[*conn](), cfg: cfg.withDefaults()}
	s.meters = make([]Meter, len(commands)+1)
	for _, cmd := range append(slices.Collect(maps.Values(commands)), unserved) {
		s.meters[cmd.index] = s.cfg.Meter(cmd.name)
	}
	s.anonymous, _ = s.cfg.Authenticate(s.Lasts, "") // nil has no rights
	s.renewCall()
	s.calls = newCalls(s)
	return s
}

func (s *Server) renewCall() {
	ctx, cancel := context.WithTimeout(s.Lasts, callTimeout+beat)
	context.AfterFunc(ctx, cancel) // not sooner, because calls may use ctx until its deadline
	ctx = trust.WithPrincipal(ctx, s.anonymous)
	s.call.Store(&ctx)
}

// contextOf returns the context of a call of the Backend for a caller.
func (s *Server) contextOf(caller *trust.Principal) context.Context {
	call := *s.call.Load()
	if caller != s.anonymous {
		call = trust.WithPrincipal(call, caller)
	}
	return call
}

// Serve is [clients.Server.ServeConns].
func (s *Server) Serve(l net.Listener) error {
	s.beating.Do(func() { go s.keepTime() })
	return s.ServeConns(l, s.newConn, s.cfg.Logger)
}

// RefuseClient writes the reason for the refusal of a client for which there is no slot. The send buffer is empty, so the write
// does not wait for the client.
func RefuseClient(nc net.Conn) { _, _ = nc.Write([]byte("-ERR max number of clients reached\r\n")) }

// keepTime counts beats, and closes the connections that have stalled for too long.
func (s *Server) keepTime() {
	ticker := time.NewTicker(beat)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			now := s.beats.Add(1)
			s.renewCall()
			s.Each(func(c *conn, _ net.Conn) { c.check(now) })
		case <-s.Closing.Done():
			return
		}
	}
}
