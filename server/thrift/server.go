package thrift

import (
	"context"
	"log/slog"
	"net"
	"time"

	"github.com/snowraft/snowraft/internal/lines"
	clients "github.com/snowraft/snowraft/server/conn"
	"github.com/snowraft/snowraft/trust"
)

const (
	callTimeout  = 5 * time.Second  // bound for a Backend call
	stallTimeout = 30 * time.Second // bound for the arrival of a message that has begun, and for the client to take the reply
)

// Layout is the name of the layout of all issued IDs, a preset of package snowflake.
const Layout = "twitter"

// Backend issues and counts the IDs. Many goroutines call it. rpc.FromError can read its errors.
type Backend interface {
	// Anonymous returns the principal of all callers, because Thrift carries no token.
	Anonymous(ctx context.Context) (*trust.Principal, error)
	// Twitter issues an ID of [Layout].
	Twitter(ctx context.Context) (ID, error)
	// Clock returns the time of the issuing process, in Unix ms.
	Clock() int64
	// Served counts a request of a method that took the given time; err is nil if it succeeded. All unknown methods are "other".
	Served(method string, err error, took time.Duration)
	// Issued counts an ID that was issued to a user agent. The agent is valid.
	Issued(agent string)
}

// ID is an issued ID, with the fields that name its lane.
type ID struct{ ID, Datacenter, Worker int64 }

// Server serves the connections of one listener, which must bound their number. Its methods may be called from any goroutine.
type Server struct {
	*clients.Server[*conn]
	backend Backend
	logger  *slog.Logger
	strange lines.Limit // log lines about connections that do not speak the protocol
}

// New returns a server. It serves after Serve is called with a listener.
func New(b Backend, logger *slog.Logger) *Server {
	return &Server{Server: clients.NewServer[*conn](), backend: b, logger: logger}
}

// Serve is [clients.Server.ServeConns].
func (s *Server) Serve(l net.Listener) error { return s.ServeConns(l, s.newConn, s.logger) }
