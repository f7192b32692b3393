package server

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"

	"github.com/snowraft/snowraft/client"
	"github.com/snowraft/snowraft/internal/clock"
	"github.com/snowraft/snowraft/internal/limits"
	"github.com/snowraft/snowraft/internal/member"
	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// gatewayWait is how long IDs and numbers may take to come from members, who wait for a leader
// for half of that. So callers are told why there are none before they have given up.
const gatewayWait = 2 * leaderWait

// Gateway has the ports of a member and nothing behind them: it asks the members for all that it
// answers. It holds no data, no vote and no worker, so that any number of them may come and go.
//
// IDs come from buffers, a buffer of each layout that was asked for; numbers of a sequence are
// asked for together by those who ask at the same time; all else goes to a member as it is.
type Gateway struct {
	*front
	cfg     GatewayConfig
	id      string // differs between starts
	began   int64  // on the monotonic clock, ms
	clock   clock.Source
	client  *client.Client
	conn    grpc.ClientConnInterface
	buffers buffers
	numbers coalescer

	closeOnce sync.Once
	closeErr  error
}

// OpenGateway binds all ports and begins to connect to the members. It returns when the ports
// are served, which may be before any member can be reached; see Ready.
func OpenGateway(ctx context.Context, cfg GatewayConfig) (*Gateway, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	p, err := cfg.listen(ctx)
	if err != nil {
		return nil, err
	}
	g := &Gateway{front: newFront("gateway", cfg.Logger.With("gateway", cfg.Name), p), cfg: cfg, id: uuid.NewString(), clock: clock.System()}
	g.began = g.clock().Mono
	asked := newAsked()
	g.client, err = client.New(cfg.Members, client.WithTimeout(limits.CallTimeout), client.WithHooks(client.Hooks{Try: asked.try}),
		client.WithDialOptions(grpc.WithIdleTimeout(0), grpc.WithChainUnaryInterceptor(g.sign)))
	if err != nil {
		p.close()
		return nil, err
	}
	g.conn, g.ready = g.client.Conn(), g.client.Ready
	g.buffers = buffers{open: func(layout string) (idSource, error) {
		return client.NewBuffer(g.client.IDs(layout), client.WithBufferAge(bufferAge), client.WithBufferSize(minBuffer, maxBuffer))
	}}
	g.numbers = coalescer{flights: make(map[string]*flight), call: func(ctx context.Context, sequence string, count uint64) (member.Numbering, error) {
		return g.askNext(ctx, sequence, count, "")
	}}
	g.metrics = newMetrics(gatewayCollector{g, asked})
	if g.grpc, err = g.newGRPC(); err == nil {
		err = g.openDoors(gatewayDoors{doors{g, g.metrics}, g}, cfg.RedisCreate)
	}
	if err != nil {
		p.close()
		return nil, errors.Join(err, g.client.Close())
	}
	_ = g.Ready() // begins to connect
	return g, nil
}

// Failure is nil: nothing that can break is kept here.
func (g *Gateway) Failure() error { return nil }

// Close ends the gateway in good order: readiness off, requests in flight finished, then the
// connections to the members. ctx bounds the polite part.
func (g *Gateway) Close(ctx context.Context) error {
	g.closeOnce.Do(func() {
		g.draining.Store(true)
		g.drain(ctx, drainTimeout)
		g.buffers.close()
		g.closeErr = g.client.Close()
		g.end()
	})
	return g.closeErr
}

// admit refuses calls that would not end, or that a member must not get from here.
func (g *Gateway) admit(ctx context.Context, method string) error {
	switch {
	case len(metadata.ValueFromIncomingContext(ctx, rpc.ForwardedBy)) > 0:
		// What was a member's address became this gateway's. Another member would forward it again.
		return &rpc.Error{Code: codes.Unavailable, Reason: rpc.NotLeader, Message: "this is a gateway: it never leads", RetryAfter: rpc.RetrySoon}
	case slices.Contains(metadata.ValueFromIncomingContext(ctx, rpc.Via), g.id):
		return &rpc.Error{Code: codes.FailedPrecondition, Reason: rpc.NotAMember,
			Message: fmt.Sprintf("gateway %s asks itself: --addr has to lead to members", g.cfg.Name)}
	case method == snowraftv1.ClusterService_Leave_FullMethodName:
		return &rpc.Error{Code: codes.FailedPrecondition, Reason: rpc.NotAMember,
			Message: "a gateway is no member, so it can't leave, and it asks no other to: stop it, or ask the member that is to leave"}
	default:
		return nil
	}
}

// sign puts this gateway's ID on all calls to members.
func (g *Gateway) sign(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	return invoke(metadata.AppendToOutgoingContext(ctx, rpc.Via, g.id), method, req, reply, cc, opts...)
}

// ask makes a call to a member. Of the caller's metadata it takes along only through which
// gateways it came.
func (g *Gateway) ask(ctx context.Context, method string, req, reply any) error {
	if via := metadata.ValueFromIncomingContext(ctx, rpc.Via); len(via) > 0 {
		ctx = metadata.NewOutgoingContext(ctx, metadata.MD{rpc.Via: via})
	}
	err := g.conn.Invoke(ctx, method, req, reply)
	if errors.Is(err, client.ErrClosed) {
		return shuttingDown()
	}
	return err
}

// next gives out numbers of a sequence. Those who come while a member is asked are served
// together by the next call; a request with an ID has an answer of its own, at the leader.
func (g *Gateway) next(ctx context.Context, sequence string, count uint64, requestID string) (n member.Numbering, err error) {
	if err := checkNext(count, requestID); err != nil {
		return n, err
	}
	if requestID == "" {
		n, err = g.numbers.next(ctx, sequence, count)
	} else {
		n, err = g.askNext(ctx, sequence, count, requestID)
	}
	if err == nil {
		g.metrics.numbers.Add(float64(count))
	}
	return n, err
}

func (g *Gateway) askNext(ctx context.Context, sequence string, count uint64, requestID string) (member.Numbering, error) {
	mine, cancel := within(ctx, gatewayWait)
	defer cancel()
	reply := new(snowraftv1.NextResponse)
	req := &snowraftv1.NextRequest{Sequence: sequence, Count: uint32(count), RequestId: requestID} //nolint:gosec // at most limits.Count
	if err := g.ask(mine, snowraftv1.SequenceService_Next_FullMethodName, req, reply); err != nil {
		return member.Numbering{}, overdue(ctx, err)
	}
	return numbering(reply, count)
}

// overdue is an error of what was given up after gatewayWait, for a caller who would have waited
// longer. Where no member said why, there is none that leads or issues.
func overdue(caller context.Context, err error) error {
	e := rpc.FromError(err)
	late := e.Code == codes.DeadlineExceeded || errors.Is(err, context.DeadlineExceeded)
	if !late || e.Reason != "" || caller.Err() != nil {
		return err
	}
	return &rpc.Error{Code: codes.Unavailable, Reason: rpc.NoLeader, RetryAfter: rpc.RetrySoon,
		Message: fmt.Sprintf("no member could answer within %v: %v", gatewayWait, err)}
}

// uptime is since the gateway began.
func (g *Gateway) uptime() time.Duration {
	return time.Duration(g.clock().Mono-g.began) * time.Millisecond
}
