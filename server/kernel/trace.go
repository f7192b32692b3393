package kernel

import (
	"context"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.39.0"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/codes"

	"github.com/snowraft/snowraft/internal/rpc"
	"github.com/snowraft/snowraft/internal/tracing"
)

// traceKey is the context key of a *received.
type traceKey struct{}

// received is the trace context that came with the call, as text.
type received struct{ parents, states []string }

// WithTraceContext returns the context of a call that came with a trace context.
func WithTraceContext(ctx context.Context, parents, states []string) context.Context {
	return context.WithValue(ctx, traceKey{}, &received{parents, states})
}

// TraceContextOf returns the trace context that came with the call; invalid without one.
func TraceContextOf(ctx context.Context) trace.SpanContext {
	r, ok := ctx.Value(traceKey{}).(*received)
	if !ok {
		return trace.SpanContext{}
	}
	return tracing.Received(r.parents, r.states)
}

// trace completes the span of an answered request. Without a span, it creates one if the request was slow.
func (m *Method) trace(ctx context.Context, span trace.Span, err error, took time.Duration) {
	late := span == nil
	if late {
		if !m.kernel.cfg.Tracer.Slow(took) {
			return
		}
		from := trace.SpanContextFromContext(ctx)
		if !from.IsValid() {
			from = TraceContextOf(ctx)
		}
		if span = m.kernel.cfg.Tracer.Late(from, m.name, trace.SpanKindServer, took); span == nil {
			return
		}
	}
	span.SetName(m.name)
	span.SetAttributes(m.attributes()...)
	code := codes.OK
	if err != nil {
		e := rpc.FromError(err)
		code = e.Code
		if fault(code) {
			tracing.Fail(span, e.Type())
		} else {
			span.SetAttributes(semconv.ErrorTypeKey.String(e.Type()))
		}
	}
	if m.protocol == GRPC {
		span.SetAttributes(semconv.RPCResponseStatusCode(rpc.CodeName(code)))
	}
	if m.protocol != HTTP || late {
		span.End() // otherwise the HTTP port ends the span, with the status
	}
}

// attributes returns the span attributes of the method.
func (m *Method) attributes() []attribute.KeyValue {
	switch m.protocol {
	case GRPC:
		return []attribute.KeyValue{semconv.RPCSystemNameGRPC, semconv.RPCMethod(m.name)}
	case HTTP:
		verb, route, ok := strings.Cut(m.name, " ")
		if !ok {
			return nil
		}
		return []attribute.KeyValue{semconv.HTTPRequestMethodKey.String(verb), semconv.HTTPRoute(route)}
	case Redis:
		return []attribute.KeyValue{semconv.DBSystemNameRedis, semconv.DBOperationName(m.name)}
	default:
		return []attribute.KeyValue{semconv.RPCSystemNameKey.String(m.protocol), semconv.RPCMethod(m.name)}
	}
}

// fault reports whether a code means that the server failed, by OpenTelemetry's convention for server spans.
func fault(c codes.Code) bool {
	switch c {
	case codes.Unknown, codes.DeadlineExceeded, codes.Unimplemented, codes.Internal, codes.Unavailable, codes.DataLoss:
		return true
	default:
		return false
	}
}
