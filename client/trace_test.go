package client

import (
	"context"
	"sync"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

func TestTracedCarriesContextOfSpan(t *testing.T) {
	t.Parallel()
	recorder := tracetest.NewSpanRecorder()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder))
	header := func(ctx context.Context) string {
		md, _ := metadata.FromOutgoingContext(ctx)
		if values := md.Get("traceparent"); len(values) == 1 {
			return values[0]
		}
		return ""
	}
	if ctx, span := traced(t.Context(), "/s/m"); ctx != t.Context() || span != nil {
		t.Error("a call without a span is traced")
	}

	// The context of a span that another process records is forwarded.
	remote := trace.NewSpanContext(trace.SpanContextConfig{TraceID: [16]byte{1}, SpanID: [8]byte{2}, TraceFlags: trace.FlagsSampled})
	ctx, span := traced(trace.ContextWithRemoteSpanContext(t.Context(), remote), "/s/m")
	if got, want := header(ctx), "00-01000000000000000000000000000000-0200000000000000-01"; got != want || span != nil {
		t.Errorf("traceparent = %q with the span %v, want %q and no span", got, span, want)
	}

	// A span that is recorded here gets a child span.
	ctx, caller := provider.Tracer("test").Start(t.Context(), "order")
	ctx, span = traced(ctx, "/s/m")
	if got, want := header(ctx), "00-"+caller.SpanContext().TraceID().String()+"-"+span.SpanContext().SpanID().String()+"-01"; got != want {
		t.Errorf("traceparent = %q, want %q", got, want)
	}
	endSpan(span, "[::1]:7700", status.FromContextError(context.DeadlineExceeded).Err())
	attributes := map[string]string{}
	for _, a := range recorder.Ended()[0].Attributes() {
		attributes[string(a.Key)] = a.Value.String()
	}
	for key, want := range map[string]string{
		"rpc.method": "s/m", "rpc.system.name": "grpc", "server.address": "::1", "server.port": "7700",
		"rpc.response.status_code": "DEADLINE_EXCEEDED", "error.type": "DEADLINE_EXCEEDED",
	} {
		if attributes[key] != want {
			t.Errorf("%s = %q, want %q", key, attributes[key], want)
		}
	}

	// The trace context that a caller adds itself is kept.
	own := metadata.AppendToOutgoingContext(trace.ContextWithSpan(t.Context(), caller), "traceparent", "own")
	if ctx, _ := traced(own, "/s/m"); header(ctx) != "own" {
		t.Errorf("traceparent = %q, want the caller's", header(ctx))
	}
}

func TestSampledCallersShareNoRequest(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	counts := map[uint64]int{}
	var contexts []trace.SpanContext
	c := &coalescer[int]{
		hooks: &Hooks{}, timeout: time.Minute, hedge: never, answerTimeout: never,
		fetch: func(ctx context.Context, count uint64, _ int64) (int, error) {
			mu.Lock()
			defer mu.Unlock()
			counts[count]++
			contexts = append(contexts, trace.SpanContextFromContext(ctx))
			return 0, nil
		},
		send: func(*batch[int], func(int, error, *former)) (string, bool) {
			t.Error("a sampled request travels on a stream")
			return "", false
		},
	}
	var callers sync.WaitGroup
	for i := range 10 {
		callers.Go(func() {
			span := trace.NewSpanContext(trace.SpanContextConfig{TraceID: [16]byte{byte(i + 1)}, SpanID: [8]byte{1}, TraceFlags: trace.FlagsSampled})
			if _, _, err := c.do(trace.ContextWithSpanContext(t.Context(), span), 1, 0); err != nil {
				t.Error(err)
			}
		})
	}
	callers.Wait()
	seen := map[trace.TraceID]bool{}
	for _, s := range contexts {
		seen[s.TraceID()] = true
	}
	if counts[1] != 10 || len(seen) != 10 {
		t.Errorf("requests by size = %v in %d traces, want 10 of one in 10 traces", counts, len(seen))
	}
}
