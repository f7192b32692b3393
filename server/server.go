package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"sync"

	"github.com/snowraft/snowraft/cluster"
	"github.com/snowraft/snowraft/internal/events"
	"github.com/snowraft/snowraft/internal/member"
	"github.com/snowraft/snowraft/internal/route"
	"github.com/snowraft/snowraft/server/api"
	"github.com/snowraft/snowraft/server/backups"
	"github.com/snowraft/snowraft/server/diagnose"
	"github.com/snowraft/snowraft/server/frontend"
	"github.com/snowraft/snowraft/server/kernel"
	"github.com/snowraft/snowraft/trust"
)

// endpoints is an alias with a lower-case name: Server embeds it, so its methods are exported and the field is not.
type endpoints = frontend.Server

// Server is a running member with all its interfaces. Its methods may be called from any goroutine.
type Server struct {
	*endpoints
	cfg      Config
	logger   *slog.Logger
	ports    *ports
	member   *member.Member
	peers    *peers
	api      *api.Services
	meter    *meter
	usage    *usage
	moved    *moved
	ends     *ends
	halts    *halts
	receipts *receipts
	ended    *ended
	backups  *backups.Keeper // nil without a schedule
	opened   chan struct{}   // closed once member is set

	stopBackups context.CancelFunc
	backupsDone sync.WaitGroup

	closeOnce sync.Once
	closeErr  error
}

// Open binds all ports, then opens the data directory and starts the member. It returns when the ports are served. The
// cluster may have no leader for a long time after that; see Ready. ctx bounds Open, not the member, which the caller must
// close. After an error, all ports are closed.
func Open(ctx context.Context, cfg Config) (*Server, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	p, err := listen(ctx, cfg)
	if err != nil {
		return nil, err
	}
	logger := cfg.Logger.With("member", cfg.Name)
	s := &Server{cfg: cfg, logger: logger, ports: p, opened: make(chan struct{}), meter: newMeter(), usage: &usage{dir: cfg.DataDir, read: cfg.Clock},
		halts: openHalts(cfg.DataDir)}
	s.ends = &ends{member: s.Member}
	s.moved = &moved{host: p.Host, ip: net.ParseIP(p.gossipIP), lookup: net.DefaultResolver.LookupIPAddr, logger: logger}
	s.peers = newPeers(s.identify, cfg.Keys, cfg.Tracer, frontend.DialOptions(cfg.Network)...)
	auth, tokens := s.auth()
	s.endpoints = frontend.New(frontend.Config{
		What: "member", Version: cfg.Version, Logger: logger, Ports: p.Ports, State: stateCollector{s, tokens}, Named: s.ends,
		Ready: func() error { return s.member.Ready() }, Auth: auth, Audit: cmp.Or(cfg.AuditLog, trust.NewAuditLog(nil, logger)), Certificate: cfg.OwnCertificate,
		Tracer: cfg.Tracer,
	})
	s.member, err = member.Open(member.Config{
		Cluster: cluster.Config{
			Name: cfg.Name, ForceName: cfg.ForceName, DataDir: cfg.DataDir,
			RaftListener: p.raft, RaftAddress: p.Advertised(p.raft), APIAddress: p.Advertised(p.API), HTTPPort: p.httpPort(),
			Gossip: p.gossip, GossipHost: p.gossipIP, GossipPort: p.gossipPort, Dial: cfg.network().DialContext,
			Join: cfg.Join, BootstrapExpect: cfg.BootstrapExpect, Nonvoter: cfg.Nonvoter,
			Version: cfg.Version, Keys: cfg.Keys, Insecure: cfg.Insecure, Timing: cfg.Timing,
			Meter: s.meter.cluster(),
		},
		Clock: cfg.Clock, Initial: cfg.initial(), Lanes: cfg.Lanes, FinalizeAfter: cfg.FinalizeAfter,
		Leader: s.peers.leader, Tracer: cfg.Tracer, Logger: logger,
	})
	if err != nil {
		p.close()
		return nil, err
	}
	close(s.opened)
	s.ended = openEnded(cfg.DataDir) // this process has locked the directory
	if tokens != nil {
		tokens.clock = &tokenClock{cluster: s.member.State().Observed(), read: s.member.Clock().Now}
	}
	router := route.New(s.member, s.peers)
	s.Kernel().Source = kernel.FromMember(s.member, router, func(ctx context.Context, sequence string) (bool, error) { return s.api.Begin(ctx, sequence) })
	s.receipts = &receipts{trust: trust.Receipts{Keys: cfg.Keys}, history: s.member, logger: logger}
	services := api.Config{
		Member: s.member, Router: router, Kernel: s.Kernel(), Invoker: s.peers, Name: cfg.Name, Version: cfg.Version,
		Ready: s.Ready, Left: func() { s.Finish(nil) }, Logger: logger, Keys: cfg.Keys, Pin: s.pin,
		OwnCertificate: cfg.OwnCertificate, AddressProblem: s.moved.problem, Dial: cfg.network().DialContext,
		Debug: diagnose.New(diagnose.Source{
			Member: s.member, Metrics: s.endpoints.Metrics(), Settings: s.settings(),
			Name: cfg.Name, Version: cfg.Version, DataDir: cfg.DataDir,
		}),
	}
	if auth != nil {
		services.Uses, services.Verify = auth.Uses, auth.Tokens.Authenticate
	}
	s.api = api.New(services)
	if cfg.Backups != nil {
		s.backups = backups.New(*cfg.Backups, scheduled{s}, s.member.Events(), logger)
	}
	twitter := &twitterLayout{created: make(chan struct{})}
	err = s.endpoints.Open(frontend.Behind{
		Process: process{s.api, s}, Services: s.api.Register, Accept: s.api.Accept, Serve: s.api.Serve,
		Before: s.api.Before, TLS: s.tls(), Plain: !cfg.ClientTLS, Events: s.member.Events(),
		Twitter: twitter.wait, Receipts: s.receipts,
	})
	if err != nil {
		return nil, errors.Join(err, s.abandon(ctx))
	}
	s.member.Events().Note(events.Process, slog.LevelInfo, fmt.Sprintf("%s started, version %s", cfg.Name, cfg.Version))
	if tokens != nil {
		go tokens.clock.follow(s.Done())
		go tokens.review(s.Done())
	}
	go s.usage.run(s.Done())
	s.moved.events = s.member.Events()
	while, cancel := context.WithCancel(context.Background())
	go s.warnInitial(while)
	go s.moved.run(while)
	backing, stop := context.WithCancel(while)
	s.stopBackups = stop
	if s.backups != nil {
		s.backupsDone.Go(func() { s.backups.Run(backing) })
	}
	if cfg.ThriftAddr != "" {
		go s.createTwitter(while, twitter)
	}
	go func() {
		defer cancel()
		select {
		case <-s.member.Node().Failed():
			err := s.member.Node().Failure()
			if s.api.Leaving() && errors.Is(err, cluster.ErrRemoved) {
				err = nil
			}
			if err != nil {
				s.halts.note(err, s.member.Clock().Now().Wall)
			}
			s.Finish(err)
		case <-s.Done():
		}
	}()
	return s, nil
}

// abandon undoes Open before anything is served.
func (s *Server) abandon(ctx context.Context) error {
	err := s.member.Close(ctx)
	s.ended.end()
	s.peers.close()
	s.ports.close()
	return err
}

// Failure returns the reason for which the member must halt; nil while the member may run.
func (s *Server) Failure() error { return s.member.Node().Failure() }

// Alive returns nil while the member's upkeep runs. Otherwise the error says for how long the upkeep has not run.
func (s *Server) Alive() error { return s.member.Node().Alive() }

// Close shuts the member down gracefully. The member stops being ready, finishes requests in flight, ends a scheduled backup,
// releases its workers and transfers leadership, then stops. ctx bounds all but the last step. Further calls wait for the first one and return
// its error.
func (s *Server) Close(ctx context.Context) error {
	s.closeOnce.Do(func() {
		s.member.Events().Note(events.Process, slog.LevelInfo, s.cfg.Name+" is shutting down")
		s.api.CloseViews()
		s.stopBackups()
		s.Drain(ctx)
		s.backupsDone.Wait()
		failed := s.Failure() != nil
		if s.closeErr = s.member.Close(ctx); !failed && s.closeErr == nil {
			s.ended.end()
		}
		s.peers.close()
		s.End()
	})
	return s.closeErr
}

// identify returns the IDs of this member and its cluster for forwarded calls. It waits until member is set, because lanes
// call it before Open has returned.
func (s *Server) identify() (id, clusterID string) {
	<-s.opened
	return s.member.Node().ID(), s.member.Node().ClusterID()
}

// RaftAddr returns the advertised address of this member's Raft port.
func (s *Server) RaftAddr() string { return s.ports.Advertised(s.ports.raft) }

// GossipAddr returns the advertised address of this member's gossip port.
func (s *Server) GossipAddr() string {
	return net.JoinHostPort(s.ports.Host, strconv.Itoa(s.ports.gossipPort))
}

// MemberID returns the ID of the member.
func (s *Server) MemberID() string { return s.member.Node().ID() }

// ClusterID returns the ID of the member's cluster; empty before the member has joined a cluster.
func (s *Server) ClusterID() string { return s.member.Node().ClusterID() }

// Member returns the member behind the interfaces.
func (s *Server) Member() *member.Member { return s.member }
