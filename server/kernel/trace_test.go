package kernel

import (
	"errors"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/snowraft/snowraft/internal/tracing"
)

// TestSlowRedisCommandsAreTraced covers a protocol without headers.
func TestSlowRedisCommandsAreTraced(t *testing.T) {
	t.Parallel()
	recorder := tracetest.NewSpanRecorder()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder))
	r := New(Config{Tracer: tracing.New(tracing.Config{Provider: provider, SlowerThan: time.Second})})
	incr := r.Of(Redis, "incr")
	incr.Answered(100, 0, time.Second-1)
	if n := len(recorder.Ended()); n != 0 {
		t.Fatalf("%d spans of a pipeline within the limit, want none", n)
	}
	incr.Answered(100, 0, 2*time.Second)
	ended := recorder.Ended()
	if len(ended) != 1 || ended[0].Name() != "incr" || ended[0].EndTime().Sub(ended[0].StartTime()) < 2*time.Second {
		t.Fatalf("spans = %v, want one of 2 s for the pipeline", ended)
	}
	for _, a := range ended[0].Attributes() {
		if a.Key == "db.operation.name" && a.Value.AsString() == "incr" {
			return
		}
	}
	t.Errorf("attributes = %v, want the command", ended[0].Attributes())
}

func TestSlowThriftCallsAreTraced(t *testing.T) {
	t.Parallel()
	recorder := tracetest.NewSpanRecorder()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder))
	call := New(Config{Tracer: tracing.New(tracing.Config{Provider: provider, SlowerThan: time.Second})})
	for _, took := range []time.Duration{time.Second - 1, time.Second} {
		call.Of(Thrift, "get_id").Served(t.Context(), nil, nil, took)
	}
	if ended := recorder.Ended(); len(ended) != 1 || ended[0].Name() != "get_id" || len(ended[0].Attributes()) != 2 {
		t.Errorf("spans = %v, want one of the slow call with its method", ended)
	}
}

func TestFailedSlowRequestHasClassOfError(t *testing.T) {
	t.Parallel()
	recorder := tracetest.NewSpanRecorder()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder))
	r := New(Config{Tracer: tracing.New(tracing.Config{Provider: provider, SlowerThan: time.Second})})
	r.Of(HTTP, "POST /seq/{name}").trace(t.Context(), nil, errors.New(`sequence "orders" is odd`), time.Minute)
	span := recorder.Ended()[0]
	if span.Status().Description != "" || len(span.Events()) > 0 || span.Status().Code.String() != "Error" {
		t.Errorf("status %v with the events %v, want Error without text", span.Status(), span.Events())
	}
	want := map[string]string{"error.type": "UNKNOWN", "http.request.method": "POST", "http.route": "/seq/{name}"}
	for _, a := range span.Attributes() {
		if want[string(a.Key)] != a.Value.AsString() {
			t.Errorf("%s = %q, want %q", a.Key, a.Value.AsString(), want[string(a.Key)])
		}
		delete(want, string(a.Key))
	}
	if len(want) > 0 {
		t.Errorf("attributes without %v", want)
	}
}
