package server

import (
	"context"
	"slices"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/metadata"

	"github.com/snowraft/snowraft/cluster"
	"github.com/snowraft/snowraft/internal/tracing"
)

// The span of a call that its caller canceled ends, and names the member that did not answer.
func TestCanceledForwardingHasSpan(t *testing.T) {
	t.Parallel()
	recorder := tracetest.NewSpanRecorder()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder))
	p := newPeers(nil, nil, tracing.New(tracing.Config{Provider: provider}))
	ctx, caller := provider.Tracer("test").Start(t.Context(), "request")
	ctx, span := p.forwarding(ctx, cluster.Member{API: "10.0.0.1:7700"}, "/snowraft.v1.SequenceService/NextNumbers")
	if trace.SpanContextFromContext(ctx).SpanID() == caller.SpanContext().SpanID() {
		t.Error("the forwarded call carries the span of the request, want its own")
	}
	span.end(context.Canceled)
	ended := recorder.Ended()
	if len(ended) != 1 || ended[0].Parent().SpanID() != caller.SpanContext().SpanID() || ended[0].SpanKind() != trace.SpanKindClient {
		t.Fatalf("spans = %v, want one of a client below the request", ended)
	}
	got := make(map[string]string)
	for _, a := range ended[0].Attributes() {
		got[string(a.Key)] = a.Value.String()
	}
	for key, want := range map[string]string{
		"rpc.system.name": "grpc", "rpc.method": "snowraft.v1.SequenceService/NextNumbers", "server.address": "10.0.0.1", "server.port": "7700",
		"rpc.response.status_code": "CANCELLED", "error.type": "CANCELLED",
	} {
		if got[key] != want {
			t.Errorf("%s = %q, want %q", key, got[key], want)
		}
	}
}

// A member that makes no span forwards the trace context as it is, with the state of the caller's vendor.
func TestTraceContextIsForwardedWithoutSpan(t *testing.T) {
	t.Parallel()
	const parent = "00-0102030405060708090a0b0c0d0e0f10-0102030405060708-00"
	for _, test := range []struct {
		received metadata.MD
		want     []string
	}{
		{nil, nil},
		{metadata.Pairs("traceparent", parent), []string{"traceparent", parent}},
		{metadata.Pairs("traceparent", parent, "tracestate", "a=1", "tracestate", "b=2"), []string{"traceparent", parent, "tracestate", "a=1,b=2"}},
		{metadata.Pairs("traceparent", parent, "traceparent", parent), nil},
		{metadata.Pairs("traceparent", "junk", "tracestate", "a=1"), nil},
	} {
		if got := traceHeaders(metadata.NewIncomingContext(t.Context(), test.received)); !slices.Equal(got, test.want) {
			t.Errorf("traceHeaders() with %v = %q, want %q", test.received, got, test.want)
		}
	}
}
