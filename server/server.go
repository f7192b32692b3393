package server

import (
	"context"
	"errors"
	"net"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/snowraft/snowraft/cluster"
	"github.com/snowraft/snowraft/internal/member"
	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// Server is a running member with all its faces.
type Server struct {
	*front
	cfg    Config
	member *member.Member
	peers  *peers
	strict coalescer
	opened chan struct{} // closed once member is set

	leaving   atomic.Bool // the cluster was asked to remove this member
	closeOnce sync.Once
	closeErr  error
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
	s := &Server{front: newFront("member", cfg.Logger.With("member", cfg.Name), p), cfg: cfg, opened: make(chan struct{})}
	s.ready = func() error { return s.member.Ready() }
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
			sequences := snowraftv1.NewSequenceServiceClient(conn)
			return leader{
				rpc.Granter{Workers: snowraftv1.NewWorkerServiceClient(conn), Sequences: sequences},
				rpc.Finder{Sequences: sequences, Layouts: snowraftv1.NewLayoutServiceClient(conn)},
			}, nil
		},
		Logger: s.logger,
	})
	if err != nil {
		p.close()
		return nil, err
	}
	close(s.opened)
	s.metrics = newMetrics(stateCollector{s})
	s.grpc = s.newGRPC()
	if err := s.openDoors(memberDoors{doors{s, s.metrics}, s}, cfg.RedisCreate); err != nil {
		return nil, errors.Join(err, s.abandon(ctx))
	}
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

// Failure is why the member must not go on; nil if it may.
func (s *Server) Failure() error { return s.member.Node().Failure() }

// Close ends the member in good order: readiness off, requests in flight
// finished, workers given back, leadership handed over, then everything
// stopped. ctx bounds the polite part.
func (s *Server) Close(ctx context.Context) error {
	s.closeOnce.Do(func() {
		s.draining.Store(true)
		s.drain(ctx, drainTimeout)
		s.closeErr = s.member.Close(ctx)
		s.peers.close()
		s.end()
	})
	return s.closeErr
}

// identify is what forwarded calls say of this member. Lanes call it before
// Open has returned.
func (s *Server) identify() (id, clusterID string) {
	<-s.opened
	return s.member.Node().ID(), s.member.Node().ClusterID()
}

// RaftAddr is where others reach this member's Raft port.
func (s *Server) RaftAddr() string { return s.ports.advertised(s.ports.raft) }

// GossipAddr is where others reach this member's gossip port.
func (s *Server) GossipAddr() string {
	return net.JoinHostPort(s.ports.host, strconv.Itoa(s.ports.gossip.GetAutoBindPort()))
}

// NodeID is the member's ID.
func (s *Server) NodeID() string { return s.member.Node().ID() }

// ClusterID is the ID of the member's cluster; empty while it is of none.
func (s *Server) ClusterID() string { return s.member.Node().ClusterID() }

// Member is the member behind the faces.
func (s *Server) Member() *member.Member { return s.member }
