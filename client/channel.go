package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	_ "google.golang.org/grpc/health" // enables health checks of members
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"

	"github.com/snowraft/snowraft/internal/limits"
	"github.com/snowraft/snowraft/internal/receipt"
)

// channel holds connections to the members whose service of a given name is healthy. It is a
// grpc.ClientConnInterface that retries calls where that is safe.
type channel struct {
	*grpc.ClientConn
	caller   *caller
	resolver *manual.Resolver
	cancel   context.CancelFunc // ends the pauses between tries
	members  *members
	streams  *streams // streams for the requests of one method
}

func newChannel(service string, seeds []string, o *options, m *members, r *receipt.Latest) (*channel, error) {
	life, cancel := context.WithCancel(context.Background())
	ch := &channel{
		caller:   &caller{opts: o, standing: newStanding(seeds), receipts: r, life: life},
		resolver: manual.NewBuilderWithScheme("snowraft"), cancel: cancel, members: m,
	}
	ch.resolver.ResolveNowCallback = func(resolver.ResolveNowOptions) { m.changed() }
	ch.resolver.InitialState(addresses(seeds))
	config := fmt.Sprintf(`{"loadBalancingConfig": [{%q: {}}], "healthCheckConfig": {"serviceName": %q}}`, balancerName, service)
	conn, err := grpc.NewClient("snowraft:///cluster", slices.Concat(o.calls, []grpc.DialOption{
		grpc.WithResolvers(ch.resolver),
		grpc.WithDefaultServiceConfig(config),
		grpc.WithDisableServiceConfig(), // ignores service configs from DNS
		grpc.WithDisableRetry(),         // caller retries by reason; gRPC knows only codes
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(limits.AnswerBytes)),
		grpc.WithStaticStreamWindowSize(limits.AnswerWindow),
		grpc.WithStaticConnWindowSize(limits.AnswersWindow),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 50 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 2 * time.Second},
			MinConnectTimeout: 2 * time.Second,
		}),
		// Members reject keepalive pings more often than every 5 s.
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 10 * time.Second, Timeout: 3 * time.Second, PermitWithoutStream: true}),
	}, o.dial)...)
	if err != nil {
		cancel()
		return nil, fmt.Errorf("client: %w", err)
	}
	ch.ClientConn, ch.caller.conn = conn, conn
	return ch, nil
}

// Invoke implements grpc.ClientConnInterface. The retries are here and not in an interceptor, so that the
// interceptors of [WithDialOptions] see each try.
func (ch *channel) Invoke(ctx context.Context, method string, req, reply any, opts ...grpc.CallOption) error {
	ch.members.start()
	return ch.caller.invoke(ctx, method, req, reply, opts...)
}

// NewStream implements grpc.ClientConnInterface.
func (ch *channel) NewStream(ctx context.Context, desc *grpc.StreamDesc, method string, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	ch.members.start()
	stream, err := ch.caller.conn.NewStream(ctx, desc, method, opts...)
	explained, done := errors.AsType[*Error](err)
	switch {
	case err == nil:
		return stream, nil
	case ch.caller.life.Err() != nil:
		return nil, ErrClosed
	case done:
		return nil, explained
	default:
		return nil, ch.caller.explained(err, "")
	}
}

// update sets the addresses of members: seeds are from the caller of New, learned are advertised by members.
func (ch *channel) update(seeds, learned []string) {
	all := distinct(slices.Concat(learned, seeds))
	ch.caller.standing.learn(all, learned)
	ch.streams.closeOthers(all)
	ch.resolver.UpdateState(addresses(all))
}

func (ch *channel) close() error {
	ch.cancel()
	return ch.ClientConn.Close()
}

func addresses(all []string) (state resolver.State) {
	for _, a := range all {
		// TLS verifies a certificate for the host of its own member.
		host, _, _ := net.SplitHostPort(a)
		state.Addresses = append(state.Addresses, resolver.Address{Addr: a, ServerName: host})
	}
	return state
}
