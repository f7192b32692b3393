// Package api implements the gRPC services of a member, and the interceptor that forwards calls to the leader if only the
// leader can serve them. Gateways use its issuing services as well. The main type is [Services].
package api

import (
	"context"
	"log/slog"
	"net"
	"sync/atomic"

	"google.golang.org/grpc"

	"github.com/snowraft/snowraft/cluster"
	"github.com/snowraft/snowraft/internal/member"
	"github.com/snowraft/snowraft/internal/overview"
	"github.com/snowraft/snowraft/internal/route"
	peerv1 "github.com/snowraft/snowraft/proto/peer/v1"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server/diagnose"
	"github.com/snowraft/snowraft/server/kernel"
	"github.com/snowraft/snowraft/trust"
)

// Config holds the parts of a member that the services need.
type Config struct {
	Member  *member.Member
	Router  *route.Router
	Kernel  *kernel.Kernel
	Invoker Invoker
	Name    string // name of the member
	Version string // version of the program
	Ready   func() error
	// Verify returns the principal of a token's text; nil in an open cluster.
	Verify func(ctx context.Context, text string) (*trust.Principal, error)
	// Pin returns the pin by which clients verify the cluster; empty in an open cluster.
	Pin    func() string
	Logger *slog.Logger
	// Keys are nil in an open cluster.
	Keys *trust.Keys
	// Uses are those of tokens and secrets at this member; nil in an open cluster.
	Uses *trust.Uses
	// AddressProblem returns the reason that the member must be restarted at its new address; empty without one.
	AddressProblem func() string
	// OwnCertificate is the operator's; nil without one.
	OwnCertificate *trust.OwnCertificate
	// Dial connects to addresses of other members.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	Left func() // called after the member has left its cluster on request
	// Debug collects debug archives.
	Debug *diagnose.Collector
}

// Invoker calls the services of other members.
type Invoker interface {
	Invoke(ctx context.Context, to cluster.Member, method string, req, reply any) error
}

// Services implements the services of one member. Its methods may be called from any goroutine.
type Services struct {
	Config
	views   *overview.Hub
	leaving atomic.Bool  // a Leave call is in progress or has succeeded
	backup  atomic.Int64 // see LastBackup
	lists   sequenceLists
	rates   rates
}

// New returns the services, which are served once they are registered.
func New(cfg Config) *Services {
	s := &Services{Config: cfg}
	s.lists.listing = cfg.Member.State().Listing
	s.lists.now = func() int64 { return cfg.Member.Clock().Now().Wall }
	s.views = overview.New(overview.Config{Source: outlook{s}, Now: cfg.Member.Clock().Now})
	return s
}

// Register registers all services. The server's interceptor calls Serve.
func (s *Services) Register(g grpc.ServiceRegistrar) error {
	snowraftv1.RegisterIdServiceServer(g, ids{IDs: IDs{Kernel: s.Kernel}, Services: s})
	snowraftv1.RegisterLayoutServiceServer(g, layouts{Services: s})
	snowraftv1.RegisterBackfillServiceServer(g, backfills{Services: s})
	snowraftv1.RegisterWorkerServiceServer(g, workers{Services: s})
	snowraftv1.RegisterClusterServiceServer(g, &clusterService{Services: s})
	snowraftv1.RegisterSequenceServiceServer(g, sequences{Numbers: Numbers{Kernel: s.Kernel}, Services: s})
	snowraftv1.RegisterTemplateServiceServer(g, templates{Services: s})
	snowraftv1.RegisterReservationServiceServer(g, reservations{Services: s})
	snowraftv1.RegisterTokenServiceServer(g, tokens{Services: s})
	snowraftv1.RegisterOperationsServiceServer(g, &operations{Services: s})
	snowraftv1.RegisterViewServiceServer(g, views{Services: s})
	peerv1.RegisterPeerServiceServer(g, &peerService{Services: s})
	return nil
}

// noteChange logs a change of the cluster with its actor.
func (s *Services) noteChange(ctx context.Context, done string, about ...any) {
	s.Logger.Info(done, append(about, "actor", trust.PrincipalOf(ctx).Actor())...) //nolint:sloglint // constants of the callers
}

// CloseViews ends the streams of overviews, so that watching clients do not delay the shutdown. Later streams fail.
func (s *Services) CloseViews() { s.views.Close() }

// LastBackup returns the time of the last complete backup that this member served, Unix ms; 0 if the member served no backup
// since its start.
func (s *Services) LastBackup() int64 { return s.backup.Load() }

// Leaving reports whether a caller asked this member to leave.
func (s *Services) Leaving() bool { return s.leaving.Load() }
