package server

import (
	"context"
	"fmt"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"

	"github.com/snowraft/snowraft/cluster"
	"github.com/snowraft/snowraft/internal/member"
	"github.com/snowraft/snowraft/internal/rpc"
)

// peers are the connections to other members' API ports, for calls that this
// member forwards. Every call on them says who forwards it and into which cluster.
type peers struct {
	identify func() (id, clusterID string)

	mu     sync.Mutex
	conns  map[string]*grpc.ClientConn // by address
	closed bool
}

func newPeers(identify func() (string, string)) *peers {
	return &peers{identify: identify, conns: make(map[string]*grpc.ClientConn)}
}

// conn returns the connection to a member, which may still be on its way up.
func (p *peers) conn(m cluster.Member) (*grpc.ClientConn, error) {
	if m.API == "" {
		return nil, fmt.Errorf("%w: the API address of %s is not known yet", member.ErrNoLeader, m.ID)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, cluster.ErrClosed
	}
	if c := p.conns[m.API]; c != nil {
		return c, nil
	}
	c, err := grpc.NewClient("passthrough:///"+m.API,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithUnaryInterceptor(p.mark),
		grpc.WithStatsHandler(sending{}),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 10 * time.Second, Timeout: 3 * time.Second}),
		// A member that was down is back soon: look often.
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 50 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: time.Second},
			MinConnectTimeout: time.Second,
		}))
	if err != nil {
		return nil, err
	}
	p.conns[m.API] = c
	return c, nil
}

func (p *peers) mark(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	id, clusterID := p.identify()
	ctx = metadata.AppendToOutgoingContext(ctx, rpc.ForwardedBy, id, rpc.ForwardedInto, clusterID)
	return invoke(ctx, method, req, reply, cc, opts...)
}

func (p *peers) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, c := range p.conns {
		_ = c.Close()
	}
}

// leader is how a member asks the one that leads.
type leader struct {
	rpc.Granter
	rpc.Finder
}
