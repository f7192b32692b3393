package otlp

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	collectorv1 "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/snowraft/snowraft/internal/tracing"
)

func TestEnvironmentChoosesExporter(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		env  string
		on   bool
		fail string
	}{
		{"", false, ""},
		{"OTEL_SERVICE_NAME=x", false, ""},
		{"OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1", true, ""},
		{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://127.0.0.1:1", true, ""},
		{"OTEL_TRACES_EXPORTER=otlp", true, ""},
		{"OTEL_TRACES_EXPORTER=none OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1", false, ""},
		{"OTEL_SDK_DISABLED=True OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1", false, ""},
		{"OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1 OTEL_EXPORTER_OTLP_PROTOCOL=grpc", true, ""},
		{"OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1 OTEL_EXPORTER_OTLP_PROTOCOL=http/json", false,
			`OTEL_EXPORTER_OTLP_PROTOCOL "http/json": expected grpc or http/protobuf`},
		{"OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1 OTEL_EXPORTER_OTLP_PROTOCOL=grpc OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=x", false,
			`OTEL_EXPORTER_OTLP_TRACES_PROTOCOL "x": expected grpc or http/protobuf`},
		{"OTEL_TRACES_EXPORTER=zipkin", false, `OTEL_TRACES_EXPORTER "zipkin": expected otlp or none`},
	} {
		env := func(name string) string {
			for e := range strings.FieldsSeq(test.env) {
				if value, ok := strings.CutPrefix(e, name+"="); ok {
					return value
				}
			}
			return ""
		}
		tracer, err := Open(t.Context(), Config{Env: env, Logger: slog.New(slog.DiscardHandler)})
		if (tracer != nil) != test.on || (err != nil) != (test.fail != "") || err != nil && err.Error() != test.fail {
			t.Errorf("Open() with %q = %v, %v, want a tracer: %v, and the error %q", test.env, tracer, err, test.on, test.fail)
		}
		tracer.Close(t.Context())
	}
}

// TestExportOverHTTP uses the default protocol, a header, and resource attributes from the environment.
func TestExportOverHTTP(t *testing.T) {
	got := make(chan *collectorv1.ExportTraceServiceRequest, 10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		req := new(collectorv1.ExportTraceServiceRequest)
		if err := proto.Unmarshal(body, req); err != nil || r.URL.Path != "/v1/traces" || r.Header.Get("Authorization") != "Bearer key" {
			t.Errorf("%s with %v: %v", r.URL.Path, r.Header, err)
		}
		got <- req
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	defer server.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", server.URL)
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20key")
	t.Setenv("OTEL_SERVICE_NAME", "ids")
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test")
	tracer, err := Open(t.Context(), Config{
		Env: os.Getenv, Service: "snowraft", Instance: "a", Version: "1", SlowerThan: time.Second, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	tracer.Late(trace.SpanContext{}, "call", trace.SpanKindServer, time.Second).End()
	tracer.Close(t.Context())
	about := map[string]string{}
	var exported *collectorv1.ExportTraceServiceRequest
	select {
	case exported = <-got:
	case <-time.After(time.Minute):
		t.Fatal("no span arrived")
	}
	for _, a := range exported.GetResourceSpans()[0].GetResource().GetAttributes() {
		about[a.GetKey()] = a.GetValue().GetStringValue()
	}
	for key, want := range map[string]string{
		"service.name": "ids", "service.instance.id": "a", "service.version": "1", "deployment.environment.name": "test",
	} {
		if about[key] != want {
			t.Errorf("resource has %s = %q, want %q", key, about[key], want)
		}
	}
	for _, secret := range []string{"process.command_args", "process.command_line"} {
		if _, ok := about[secret]; ok {
			t.Errorf("resource has %s, which may hold a token", secret)
		}
	}
	if counts := tracer.Counts(); counts != (tracing.Counts{Exported: 1}) {
		t.Errorf("Counts() = %+v, want one exported", counts)
	}
}

// stuck is an exporter whose collector never answers.
type stuck struct {
	tracetest.NoopExporter
	calls atomic.Int64
	free  chan struct{}
}

func (s *stuck) ExportSpans(ctx context.Context, _ []sdktrace.ReadOnlySpan) error {
	s.calls.Add(1)
	select {
	case <-s.free:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// TestStuckCollectorDropsSpans checks that spans neither wait for a collector nor take more memory than the queue.
func TestStuckCollectorDropsSpans(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const size = 600 // more than one batch
		collector := &stuck{free: make(chan struct{})}
		var log bytes.Buffer
		q := newQueue(collector, size, slog.New(slog.NewTextHandler(&log, nil)))
		provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(q))
		began := time.Now()
		for range 3 * size {
			_, span := provider.Tracer("test").Start(t.Context(), "call")
			span.End()
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("spans waited %v for the collector", took)
		}
		if got := q.counts(); got != (tracing.Counts{Dropped: 2 * size}) {
			t.Errorf("counts = %+v, want %d dropped", got, 2*size)
		}
		close(collector.free)
		if err := provider.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := q.counts(); got != (tracing.Counts{Exported: size, Dropped: 2 * size}) || collector.calls.Load() < 2 {
			t.Errorf("counts = %+v after %d calls, want %d exported in two batches", got, collector.calls.Load(), size)
		}
	})
}

// TestDeadCollectorDelaysCloseBriefly uses a collector that accepts spans and never answers.
func TestDeadCollectorDelaysCloseBriefly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		collector := &stuck{free: make(chan struct{})}
		defer close(collector.free)
		q := newQueue(collector, 10, slog.New(slog.DiscardHandler))
		provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(q))
		tracer := tracing.New(tracing.Config{Provider: provider, Counts: q.counts, Close: provider.Shutdown})
		tracer.Late(trace.SpanContext{}, "call", trace.SpanKindServer, time.Second).End()
		began := time.Now()
		tracer.Close(t.Context())
		if took := time.Since(began); took != 2*time.Second {
			t.Errorf("Close() took %v, want 2 s", took)
		}
	})
}

// refusing is an exporter whose collector refuses all spans.
type refusing struct{ tracetest.NoopExporter }

func (*refusing) ExportSpans(context.Context, []sdktrace.ReadOnlySpan) error {
	return errors.New("quota exceeded " + strings.Repeat("x", 2*maxComplaint))
}

func TestRefusedSpansAreCountedAndLogged(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	q := newQueue(new(refusing), 10, slog.New(slog.NewTextHandler(&log, nil)))
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(q))
	for range 20 { // more than the queue accepts at once
		_, span := provider.Tracer("test").Start(t.Context(), "call")
		span.End()
		if err := provider.ForceFlush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := provider.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := q.counts(); got != (tracing.Counts{Failed: 20}) {
		t.Errorf("counts = %+v, want 20 failed", got)
	}
	if lines := strings.Count(log.String(), "spans not exported"); lines < 1 || lines > 10 || log.Len() > 5000 {
		t.Errorf("%d lines of %d bytes about failures, want at most 10 of 500", lines, log.Len())
	}
}

func TestSettingsAreLoggedWithoutValues(t *testing.T) {
	var log bytes.Buffer
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "secret-without-a-name")
	tracer, err := Open(t.Context(), Config{Env: os.Getenv, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	tracer.Close(t.Context())
	if got := log.String(); strings.Contains(got, "secret") || !strings.Contains(got, `setting="parse headers"`) {
		t.Errorf("log = %q, want a line about the headers without their text", got)
	}
}
