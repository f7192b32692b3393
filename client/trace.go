package client

import (
	"context"
	"net"
	"strconv"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/metadata"

	"github.com/snowraft/snowraft/internal/rpc"
)

// sampled reports whether a caller's request is part of a sampled trace. Such a request travels in a call of its own, because
// a shared request would be in at most one trace.
func sampled(ctx context.Context) bool { return trace.SpanContextFromContext(ctx).IsSampled() }

// traced returns the context and the span of a try. The context carries the trace context to the member. The provider of the
// caller's span creates the span of the try; it is nil if the caller's span is not recorded.
func traced(ctx context.Context, method string) (context.Context, trace.Span) {
	caller := trace.SpanFromContext(ctx)
	if !caller.SpanContext().IsValid() {
		return ctx, nil
	}
	var span trace.Span
	if caller.IsRecording() {
		ctx, span = caller.TracerProvider().Tracer("github.com/snowraft/snowraft/client").Start(ctx, method[1:],
			trace.WithSpanKind(trace.SpanKindClient),
			trace.WithAttributes(attribute.String("rpc.system.name", "grpc"), attribute.String("rpc.method", method[1:])))
	}
	if md, _ := metadata.FromOutgoingContext(ctx); len(md.Get("traceparent")) > 0 {
		return ctx, span // the caller carries a context itself
	}
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	var headers []string
	for name, value := range carrier {
		headers = append(headers, name, value)
	}
	return metadata.AppendToOutgoingContext(ctx, headers...), span
}

// endSpan ends the span of a try. The address of the member is empty if no member could be called. A nil span is ignored.
func endSpan(span trace.Span, member string, err error) {
	if span == nil {
		return
	}
	if host, service, split := net.SplitHostPort(member); split == nil {
		port, _ := strconv.Atoi(service)
		span.SetAttributes(attribute.String("server.address", host), attribute.Int("server.port", port))
	}
	e := &rpc.Error{}
	if err != nil {
		e = rpc.FromError(err)
		span.SetAttributes(attribute.String("error.type", e.Type()))
		span.SetStatus(codes.Error, "")
	}
	span.SetAttributes(attribute.String("rpc.response.status_code", rpc.CodeName(e.Code)))
	span.End()
}
