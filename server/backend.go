package server

import (
	"time"

	"github.com/snowraft/snowraft/server/api"
	"github.com/snowraft/snowraft/server/frontend"
	"github.com/snowraft/snowraft/server/redis"
)

// backend is what the front needs of a member apart from issuing; see frontend.Backend.
type backend struct {
	*api.Services
	s *Server
}

var _ frontend.Backend = backend{}

func (b backend) Failure() error { return b.s.Failure() }

// Info describes the member to Redis clients.
func (b backend) Info() redis.Info {
	node := b.s.member.Node()
	info := redis.Info{
		Member: b.s.cfg.Name, MemberID: node.ID(), ClusterID: node.ClusterID(), Version: b.s.cfg.Version,
		Role: "follower", Uptime: time.Duration(b.s.member.Clock().Now().Mono) * time.Millisecond,
	}
	if node.IsLeader() {
		info.Role = "leader"
	}
	if leader, ok := node.Leader(); ok {
		info.Leader = leader.Name
	}
	return info
}
