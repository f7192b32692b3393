package gateway

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/snowraft/snowraft/client"
	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server/wire"
	"github.com/snowraft/snowraft/trust"
)

// members calls members for a gateway.
type members struct {
	id   string // of the gateway; differs between starts
	name string // of the gateway
	// secured: calls go with the token of their caller, and not with the gateway's own.
	secured bool
	conn    grpc.ClientConnInterface
}

// serve is the interceptor of calls to the gateway.
func (m *members) serve(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	if err := m.admit(ctx, info.FullMethod); err != nil {
		return nil, err
	}
	return handler(ctx, req)
}

// admit refuses calls that would not end, or that a member must not get from here.
func (m *members) admit(ctx context.Context, method string) error {
	switch {
	case len(metadata.ValueFromIncomingContext(ctx, rpc.ForwardedBy)) > 0:
		// The address of a member became this gateway's. Another member would forward the call again.
		return rpc.NewError(rpc.NotLeader, "this process is a gateway, which never leads")
	case slices.Contains(metadata.ValueFromIncomingContext(ctx, rpc.Via), m.id):
		return rpc.NewError(rpc.NotAMember, fmt.Sprintf("gateway %s forwards requests to itself; name members in --members", m.name))
	case method == snowraftv1.ClusterService_Leave_FullMethodName:
		return rpc.NewError(rpc.NotAMember, "a gateway is not a member and cannot leave; stop its process, or send Leave to the member to remove")
	default:
		return nil
	}
}

// sign puts this gateway's ID on all calls to members.
func (m *members) sign(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	return invoke(metadata.AppendToOutgoingContext(ctx, rpc.Via, m.id), method, req, reply, cc, opts...)
}

// signStream puts this gateway's ID on all streams to members, so on each request of a stream.
func (m *members) signStream(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, begin grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	return begin(metadata.AppendToOutgoingContext(ctx, rpc.Via, m.id), desc, cc, method, opts...)
}

// ask makes a call to a member on behalf of a caller. Of the caller's metadata it takes along only through which
// gateways it came, and the token.
func (m *members) ask(ctx context.Context, method string, req, reply any) error {
	return answered(m.conn.Invoke(m.onBehalf(ctx), method, req, reply))
}

// onBehalf returns the context of a call to a member for a caller.
func (m *members) onBehalf(ctx context.Context) context.Context {
	if m.secured {
		ctx = rpc.WithBearer(ctx, trust.PrincipalOf(ctx).Bearer())
	}
	if via := metadata.ValueFromIncomingContext(ctx, rpc.Via); len(via) > 0 {
		ctx = metadata.NewOutgoingContext(ctx, metadata.MD{rpc.Via: via})
	}
	return ctx
}

// answered returns the error of a call to a member, for a caller.
func answered(err error) error {
	if errors.Is(err, client.ErrClosed) {
		return wire.ShuttingDown()
	}
	return reasoned(err)
}

// reasoned gives a reason to the error of a call that no member answered because there was no connection, or because it
// broke.
func reasoned(err error) error {
	failed, ok := errors.AsType[*client.Error](err)
	if !ok || failed.Reason != "" || status.Code(failed) != codes.Unavailable {
		return err
	}
	if failed.Unsent {
		return rpc.NewError(rpc.NoLeader, failed.Error())
	}
	return rpc.NewError(rpc.CommitUnknown, failed.Error())
}
