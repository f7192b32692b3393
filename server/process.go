package server

import (
	"time"

	"github.com/snowraft/snowraft/server/api"
	"github.com/snowraft/snowraft/server/frontend"
	"github.com/snowraft/snowraft/server/redis"
)

// process implements [frontend.Process] for a member.
type process struct {
	*api.Services
	s *Server
}

var _ frontend.Process = process{}

func (p process) Failure() error { return p.s.Failure() }

// Clock returns the member's clock, in Unix ms.
func (p process) Clock() int64 { return p.s.member.Clock().Now().Wall }

// Info describes the member to Redis clients.
func (p process) Info() redis.Info {
	node := p.s.member.Node()
	info := redis.Info{
		Member: p.s.cfg.Name, MemberID: node.ID(), ClusterID: node.ClusterID(), Version: p.s.cfg.Version,
		Role: "follower", Uptime: time.Duration(p.s.member.Clock().Now().Mono) * time.Millisecond,
	}
	if node.IsLeader() {
		info.Role = "leader"
	}
	if leader, ok := node.Leader(); ok {
		info.Leader = leader.Name
	}
	return info
}
