package server

import (
	"context"
	"net"
	"strconv"

	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"

	"github.com/snowraft/snowraft/cluster"
	"github.com/snowraft/snowraft/internal/rpc"
	"github.com/snowraft/snowraft/internal/tracing"
	"github.com/snowraft/snowraft/server/wire"
)

// forwarding begins the span of a call to another member.
func (p *peers) forwarding(ctx context.Context, to cluster.Member, method string) (context.Context, forwardSpan) {
	if p.tracer == nil {
		return ctx, forwardSpan{}
	}
	host, service, _ := net.SplitHostPort(to.API)
	port, _ := strconv.Atoi(service)
	ctx, work := p.tracer.Begin(ctx, method[1:], trace.SpanKindClient, semconv.RPCSystemNameGRPC, semconv.RPCMethod(method[1:]),
		semconv.ServerAddress(host), semconv.ServerPort(port))
	return ctx, forwardSpan{work}
}

// forwardSpan is the span of a call to another member.
type forwardSpan struct{ work *tracing.Work }

func (s forwardSpan) end(err error) {
	if s.work == nil {
		return
	}
	if err == nil {
		s.work.End("", semconv.RPCResponseStatusCode(rpc.CodeName(codes.OK)))
		return
	}
	e := rpc.FromError(wire.Status(err))
	s.work.End(e.Type(), semconv.RPCResponseStatusCode(rpc.CodeName(e.Code)))
}

// traceHeaders returns the trace context of a call to another member: this member's span or, without such a span, the span of
// the caller.
func traceHeaders(ctx context.Context) []string {
	if own := tracing.Headers(ctx); own != nil {
		return own
	}
	parent := metadata.ValueFromIncomingContext(ctx, tracing.Parent)
	if parent == nil {
		return nil
	}
	received := tracing.Received(parent, metadata.ValueFromIncomingContext(ctx, tracing.State))
	return tracing.Headers(trace.ContextWithRemoteSpanContext(context.Background(), received))
}
