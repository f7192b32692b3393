package server

import (
	"context"
	"time"

	"github.com/snowraft/snowraft/server/frontend"
	"github.com/snowraft/snowraft/server/redis"
	"github.com/snowraft/snowraft/server/wire"
)

// backend is what the front needs of a member apart from issuing; see frontend.Backend.
type backend struct{ s *Server }

var _ frontend.Backend = backend{}

func (b backend) Exists(ctx context.Context, sequence string) (bool, error) {
	ok, err := b.s.api.Exists(ctx, sequence)
	return ok, wire.Status(err)
}

func (b backend) Create(ctx context.Context, sequence string, strict bool) error {
	return wire.Status(b.s.api.Create(ctx, sequence, strict))
}

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
