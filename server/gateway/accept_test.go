package gateway

import (
	"context"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/snowraft/snowraft/internal/rpc"
	"github.com/snowraft/snowraft/internal/tracing"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// outgoing stores the metadata of the last call.
type outgoing struct {
	grpc.ClientConnInterface
	md metadata.MD
}

func (o *outgoing) Invoke(ctx context.Context, _ string, _, _ any, _ ...grpc.CallOption) error {
	o.md, _ = metadata.FromOutgoingContext(ctx)
	return nil
}

// A circle of gateways would forward a call until its deadline.
func TestCircleOfGatewaysIsRefused(t *testing.T) {
	t.Parallel()
	const method = snowraftv1.ClusterService_ListMembers_FullMethodName
	var sent metadata.MD // metadata from the last gateway
	for _, id := range []string{"a", "b", "c"} {
		call := metadata.NewIncomingContext(t.Context(), sent)
		next := &outgoing{}
		g := &members{id: id, conn: next}
		if err := g.accept(call, method); err != nil {
			t.Fatalf("%s refuses: %v", id, err)
		}
		if err := g.ask(call, method, nil, nil); err != nil {
			t.Fatal(err)
		}
		err := g.sign(metadata.NewOutgoingContext(call, next.md), method, nil, nil, nil,
			func(ctx context.Context, _ string, _, _ any, _ *grpc.ClientConn, _ ...grpc.CallOption) error {
				sent, _ = metadata.FromOutgoingContext(ctx)
				return nil
			})
		if err != nil {
			t.Fatal(err)
		}
	}
	call := metadata.NewIncomingContext(t.Context(), sent)
	if via := metadata.ValueFromIncomingContext(call, rpc.Via); !slices.Equal(via, []string{"a", "b", "c"}) {
		t.Errorf("gateways of the call = %v", via)
	}
	if err := (&members{id: "a"}).accept(call, method); rpc.FromError(err).Reason != rpc.NotAMember {
		t.Errorf("admit() of a's own call = %v, want NOT_A_MEMBER", err)
	}
}

// No metadata of a client reaches a member, except the trace context.
func TestGatewayForwardsNoMetadata(t *testing.T) {
	t.Parallel()
	next := &outgoing{}
	call := metadata.NewIncomingContext(t.Context(), metadata.Pairs("authorization", "x", rpc.ForwardedInto, "y", "grpc-trace-bin", "z"))
	if err := (&members{conn: next}).ask(call, "", nil, nil); err != nil || len(next.md) != 0 {
		t.Errorf("%v, %v", next.md, err)
	}
}

// The ranges of a buffer's IDs hold exactly these IDs, in order.
func TestJoinIDs(t *testing.T) {
	t.Parallel()
	for _, ids := range [][]uint64{
		{5}, {5, 6, 7}, {5, 7, 9, 10, 11}, {9, 5, 6}, {5, 5}, {1<<64 - 2, 1<<64 - 1, 0, 1}, {5, 6, 8, 4, 3, 2, 10, 20, 30, 31},
	} {
		var got []uint64
		joined := join(nil, ids[0])
		for _, id := range ids[1:] {
			joined = join(joined, id)
		}
		for _, r := range joined {
			got = slices.AppendSeq(got, r.All())
		}
		if !slices.Equal(got, ids) {
			t.Errorf("%v: %v, which is %v", ids, joined, got)
		}
	}
}

// A gateway that makes no span forwards the trace context of its caller.
func TestTraceContextReachesMembers(t *testing.T) {
	t.Parallel()
	const parent = "00-0102030405060708090a0b0c0d0e0f10-0102030405060708-01"
	received := metadata.NewIncomingContext(t.Context(), metadata.Pairs("traceparent", parent, "tracestate", "a=1"))
	m := &members{id: "g1"}
	if got := tracing.Headers(m.onBehalf(received)); strings.Join(got, " ") != "traceparent "+parent+" tracestate a=1" {
		t.Errorf("the call to a member carries %q, want the context of the caller", got)
	}
	own := trace.NewSpanContext(trace.SpanContextConfig{TraceID: [16]byte{1}, SpanID: [8]byte{2}, TraceFlags: trace.FlagsSampled})
	if got := trace.SpanContextFromContext(m.onBehalf(trace.ContextWithSpanContext(received, own))); !got.Equal(own) {
		t.Errorf("the call to a member carries %v, want the span of the gateway", got)
	}
	for _, junk := range []metadata.MD{nil, metadata.Pairs("traceparent", "junk"), metadata.Pairs("traceparent", parent, "traceparent", parent)} {
		if got := tracing.Headers(m.onBehalf(metadata.NewIncomingContext(t.Context(), junk))); got != nil {
			t.Errorf("with %v, the call to a member carries %q, want nothing", junk, got)
		}
	}
}
