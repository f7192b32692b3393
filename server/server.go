package server

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	"github.com/snowraft/snowraft/cluster"
	"github.com/snowraft/snowraft/internal/member"
	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server/redis"
)

// Server is a running member with all its faces.
type Server struct {
	cfg     Config
	logger  *slog.Logger
	ports   *ports
	member  *member.Member
	peers   *peers
	grpc    *grpc.Server
	inner   *inProcess
	http    *http.Server
	redis   *redis.Server // nil when it is off
	gate    gate
	strict  coalescer
	metrics *metrics
	opened  chan struct{} // closed once member is set

	draining atomic.Bool // readiness is off
	leaving  atomic.Bool // the cluster was asked to remove this member

	doneOnce sync.Once
	done     chan struct{}
	err      error

	closeOnce sync.Once
	closeErr  error
	wg        sync.WaitGroup
}

// Open binds all ports, then opens the data directory and starts the member.
// It returns when the ports are served, which may be long before the cluster
// has a leader; see Ready.
func Open(ctx context.Context, cfg Config) (*Server, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	p, err := listen(ctx, cfg)
	if err != nil {
		return nil, err
	}
	s := &Server{cfg: cfg, logger: cfg.Logger.With("member", cfg.Name), ports: p, opened: make(chan struct{}), done: make(chan struct{})}
	s.peers = newPeers(s.identify)
	s.strict = coalescer{flights: make(map[string]*flight), call: func(ctx context.Context, name string, count uint64) (member.Numbering, error) {
		return s.nextAtLeader(ctx, name, count, "")
	}}
	s.member, err = member.Open(member.Config{
		Cluster: cluster.Config{
			Name: cfg.Name, DataDir: cfg.DataDir,
			RaftListener: p.raft, RaftAddress: p.advertised(p.raft), APIAddress: p.advertised(p.api),
			Gossip: p.gossip, GossipHost: p.gossipIP, GossipPort: p.gossip.GetAutoBindPort(),
			Join: cfg.Join, BootstrapExpect: cfg.BootstrapExpect, Nonvoter: cfg.Nonvoter,
			Version: cfg.Version, Timing: cfg.Timing,
		},
		Clock: cfg.Clock, Initial: cfg.initial(), Lanes: cfg.Lanes,
		Leader: func(m cluster.Member) (member.Leader, error) {
			conn, err := s.peers.conn(m)
			if err != nil {
				return nil, err
			}
			return rpc.Granter{
				Workers: snowraftv1.NewWorkerServiceClient(conn), Sequences: snowraftv1.NewSequenceServiceClient(conn),
			}, nil
		},
		Logger: s.logger,
	})
	if err != nil {
		p.close()
		return nil, err
	}
	close(s.opened)
	s.metrics = newMetrics(s)
	s.grpc = s.newGRPC()
	s.inner = newInProcess()
	if s.http, err = s.newHTTP(); err != nil {
		return nil, errors.Join(err, s.abandon(ctx))
	}
	s.wg.Go(func() {
		if err := s.grpc.Serve(s.inner.listener); err != nil {
			s.finish(err)
		}
	})
	s.wg.Go(func() {
		if err := s.grpc.Serve(p.api); err != nil {
			s.finish(err)
		}
	})
	if p.redis != nil {
		s.redis = s.newRedis()
		s.wg.Go(func() {
			if err := s.redis.Serve(p.redis); err != nil {
				s.finish(err)
			}
		})
	}
	s.wg.Go(func() {
		if err := s.http.Serve(p.http); err != nil && !errors.Is(err, http.ErrServerClosed) {
			s.finish(err)
		}
	})
	go func() {
		select {
		case <-s.member.Node().Failed():
			err := s.member.Node().Failure()
			if s.leaving.Load() && errors.Is(err, cluster.ErrRemoved) {
				err = nil
			}
			s.finish(err)
		case <-s.done:
		}
	}()
	return s, nil
}

// abandon undoes Open before anything is served.
func (s *Server) abandon(ctx context.Context) error {
	err := s.member.Close(ctx)
	s.peers.close()
	s.ports.close()
	return err
}

// finish says that the member must end.
func (s *Server) finish(err error) {
	s.doneOnce.Do(func() {
		s.err = err
		s.draining.Store(true)
		close(s.done)
	})
}

// Done is closed when the member must end by itself: it left, was removed, or
// must not go on. The owner then calls Close.
func (s *Server) Done() <-chan struct{} { return s.done }

// Err is why the member must end; nil after it left, and before Done.
func (s *Server) Err() error {
	select {
	case <-s.done:
		return s.err
	default:
		return nil
	}
}

// Ready is nil when IDs can be issued now, and else says why not.
func (s *Server) Ready() error {
	if s.draining.Load() {
		return errors.New("this member is shutting down")
	}
	return s.member.Ready()
}

// drainTimeout bounds the wait for requests in flight.
const drainTimeout = 3 * time.Second

// Close ends the member in good order: readiness off, requests in flight
// finished, workers given back, leadership handed over, then everything
// stopped. ctx bounds the polite part.
func (s *Server) Close(ctx context.Context) error {
	s.closeOnce.Do(func() {
		s.draining.Store(true)
		s.drain(ctx, drainTimeout)
		s.inner.close()
		s.closeErr = s.member.Close(ctx)
		s.peers.close()
		_ = s.http.Close()
		s.finish(nil)
		s.wg.Wait()
	})
	return s.closeErr
}

// drain stops accepting calls and waits for those in flight, for at most budget: those
// over Redis's protocol and HTTP first, since they use gRPC, and for half of it, so
// that one client who dawdles there does not cut off the calls over gRPC.
func (s *Server) drain(ctx context.Context, budget time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, budget)
	defer cancel()
	s.drainDoors(ctx, budget/2)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		s.grpc.GracefulStop()
	}()
	select {
	case <-stopped:
		return
	case <-ctx.Done():
	}
	s.grpc.Stop() // long streams
	<-stopped
}

// drainDoors does so for Redis's protocol and HTTP, at the same time: none of them takes
// calls while another waits for its own.
func (s *Server) drainDoors(ctx context.Context, budget time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, budget)
	defer cancel()
	s.gate.closing.Store(true)
	var doors sync.WaitGroup
	doors.Go(s.gate.shut)
	if s.redis != nil {
		doors.Go(func() { _ = s.redis.Close(ctx) }) // fails only for requests that ctx cut off
	}
	left := make(chan struct{})
	s.wg.Go(func() {
		defer close(left)
		doors.Wait()
	})
	select {
	case <-left:
	case <-ctx.Done():
	}
}

// identify is what forwarded calls say of this member. Lanes call it before
// Open has returned.
func (s *Server) identify() (id, clusterID string) {
	<-s.opened
	return s.member.Node().ID(), s.member.Node().ClusterID()
}

// APIAddr is where others reach this member's API.
func (s *Server) APIAddr() string { return s.ports.advertised(s.ports.api) }

// HTTPAddr is where others reach this member's HTTP port.
func (s *Server) HTTPAddr() string { return s.ports.advertised(s.ports.http) }

// RaftAddr is where others reach this member's Raft port.
func (s *Server) RaftAddr() string { return s.ports.advertised(s.ports.raft) }

// GossipAddr is where others reach this member's gossip port.
func (s *Server) GossipAddr() string {
	return net.JoinHostPort(s.ports.host, strconv.Itoa(s.ports.gossip.GetAutoBindPort()))
}

// RedisAddr is where others reach this member's Redis port; empty when it is off.
func (s *Server) RedisAddr() string {
	if s.ports.redis == nil {
		return ""
	}
	return s.ports.advertised(s.ports.redis)
}

// NodeID is the member's ID.
func (s *Server) NodeID() string { return s.member.Node().ID() }

// ClusterID is the ID of the member's cluster; empty while it is of none.
func (s *Server) ClusterID() string { return s.member.Node().ClusterID() }

// Member is the member behind the faces.
func (s *Server) Member() *member.Member { return s.member }
