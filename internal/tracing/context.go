package tracing

import (
	"context"
	"strings"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// Header names of the W3C trace context, in gRPC metadata and, in any case, in HTTP headers.
const (
	Parent = "traceparent"
	State  = "tracestate"
)

const (
	// maxParent is longer than a traceparent of any known version.
	maxParent = 128
	// maxState bounds the vendor data that a span holds until it is exported, in bytes.
	maxState = 512
)

// Context returns the trace context of a request from its headers. It is invalid without a valid parent of at most
// 128 bytes, and omits a state of more than 512 bytes.
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

// Received returns the trace context of a request from all values of its two headers. It is invalid unless there is exactly one
// parent. Several states are one list, because a proxy may split the header.
func Received(parents, states []string) trace.SpanContext {
	if len(parents) != 1 {
		return trace.SpanContext{}
	}
	return Context(parents[0], strings.Join(states, ","))
}

// Headers returns the trace context of ctx as headers: names and values alternate. It returns none without a span.
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

// Sampled reports whether ctx has the span of a sampled request.
func Sampled(ctx context.Context) bool { return trace.SpanContextFromContext(ctx).IsSampled() }
