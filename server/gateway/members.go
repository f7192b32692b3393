package gateway

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/snowraft/snowraft/client"
	"github.com/snowraft/snowraft/internal/rpc"
	"github.com/snowraft/snowraft/internal/tracing"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server/wire"
	"github.com/snowraft/snowraft/trust"
)

// members calls members for a gateway.
type members struct {
	id   string // ID of the gateway; new at each start
	name string // name of the gateway
	// secured reports whether a call for a caller has the token of the caller in place of the gateway's own token.
	secured bool
	conn    grpc.ClientConnInterface
}

var errNeverLeads = rpc.NewError(rpc.NotLeader, "this process is a gateway, which never leads")

// accept returns an error for calls that would loop, and for calls that a gateway must not send to a member.
func (m *members) accept(ctx context.Context, method string) error {
	switch {
	case len(metadata.ValueFromIncomingContext(ctx, rpc.ForwardedBy)) > 0:
		// This gateway now has the address of a former member. Another member would forward the call again.
		return errNeverLeads
	case slices.Contains(metadata.ValueFromIncomingContext(ctx, rpc.Via), m.id):
		return rpc.NewError(rpc.NotAMember, fmt.Sprintf("gateway %s forwards requests to itself; name members in --members", m.name))
	case method == snowraftv1.ClusterService_Leave_FullMethodName:
		return rpc.NewError(rpc.NotAMember, "a gateway is not a member and cannot leave; stop its process, or send Leave to the member to remove")
	default:
		return nil
	}
}

// sign adds this gateway's ID to the metadata of every call to a member.
func (m *members) sign(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	return invoke(metadata.AppendToOutgoingContext(ctx, rpc.Via, m.id), method, req, reply, cc, opts...)
}

// signStream adds this gateway's ID to the metadata of every stream to a member, and therefore to each request of a stream.
func (m *members) signStream(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, begin grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	return begin(metadata.AppendToOutgoingContext(ctx, rpc.Via, m.id), desc, cc, method, opts...)
}

// ask makes a call to a member on behalf of a caller. Of the caller's metadata it forwards only the IDs of the gateways that
// the call has passed, the token and the trace context.
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
	if !trace.SpanContextFromContext(ctx).IsValid() { // this gateway makes no span
		if parent := metadata.ValueFromIncomingContext(ctx, tracing.Parent); parent != nil {
			ctx = trace.ContextWithRemoteSpanContext(ctx, tracing.Received(parent, metadata.ValueFromIncomingContext(ctx, tracing.State)))
		}
	}
	return ctx
}

// answered converts the error of a call to a member to an error for a caller.
func answered(err error) error {
	if errors.Is(err, client.ErrClosed) {
		return wire.ShuttingDown()
	}
	return reasoned(err)
}

// reasoned returns err with a reason if no member answered the call: NoLeader if the call was not sent, or CommitUnknown if the
// connection broke.
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
