package tracing

import (
	"context"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// The names of the W3C trace context in metadata of gRPC and, whatever their case, in HTTP headers.
const (
	Parent = "traceparent"
	State  = "tracestate"
)

const (
	// maxParent is longer than a traceparent of any known version.
	maxParent = 128
	// maxState is the most of a vendor's data that is kept: a span holds it until it is exported.
	maxState = 512
)

// Context returns the trace context of a request, given its headers; an invalid one without them.
func Context(parent, state string) trace.SpanContext {
	if parent == "" || len(parent) > maxParent {
		return trace.SpanContext{}
	}
	carrier := propagation.MapCarrier{Parent: parent}
	if len(state) <= maxState {
		carrier[State] = state
	}
	return trace.SpanContextFromContext(propagation.TraceContext{}.Extract(context.Background(), carrier))
}

// Headers returns the headers of a call that is made in a context with a span: names and values by turns; none without a span.
func Headers(ctx context.Context) []string {
	if !trace.SpanContextFromContext(ctx).IsValid() {
		return nil
	}
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	headers := []string{Parent, carrier[Parent]}
	if state := carrier[State]; state != "" {
		headers = append(headers, State, state)
	}
	return headers
}

// Sampled reports whether a context has the span of a sampled request.
func Sampled(ctx context.Context) bool { return trace.SpanContextFromContext(ctx).IsSampled() }
