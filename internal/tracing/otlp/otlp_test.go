package otlp

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
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
	"google.golang.org/grpc"
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
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "20")
	t.Setenv("OTEL_SERVICE_NAME", "ids")
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test")
	tracer, err := Open(t.Context(), Config{
		Env: os.Getenv, Service: "snowraft", Instance: "a", Version: "1", SlowerThan: time.Second, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer tracer.Close(t.Context())
	tracer.Late(trace.SpanContext{}, "call", trace.SpanKindServer, time.Second).End()
	about := map[string]string{}
	exported := <-got
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
}

// grpcCollector receives spans over gRPC.
type grpcCollector struct {
	collectorv1.UnimplementedTraceServiceServer
	got chan *collectorv1.ExportTraceServiceRequest
}

// Export implements collectorv1.TraceServiceServer.
func (c grpcCollector) Export(_ context.Context, req *collectorv1.ExportTraceServiceRequest) (*collectorv1.ExportTraceServiceResponse, error) {
	c.got <- req
	return new(collectorv1.ExportTraceServiceResponse), nil
}

func TestExportOverGRPC(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	collector, server := grpcCollector{got: make(chan *collectorv1.ExportTraceServiceRequest, 1)}, grpc.NewServer()
	collectorv1.RegisterTraceServiceServer(server, collector)
	go func() { _ = server.Serve(listener) }()
	defer server.Stop()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://"+listener.Addr().String())
	t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "20")
	tracer, err := Open(t.Context(), Config{Env: os.Getenv, SlowerThan: time.Second, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer tracer.Close(t.Context())
	tracer.Late(trace.SpanContext{}, "call", trace.SpanKindServer, time.Second).End()
	exported := <-collector.got
	if name := exported.GetResourceSpans()[0].GetScopeSpans()[0].GetSpans()[0].GetName(); name != "call" {
		t.Errorf("the span %q arrived, want call", name)
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

// TestDeadCollectorDelaysNothing uses a collector that accepts spans and never answers.
func TestDeadCollectorDelaysNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		collector := &stuck{free: make(chan struct{})}
		defer close(collector.free)
		provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(collector))
		tracer := tracing.New(tracing.Config{Provider: provider, Close: provider.Shutdown})
		began := time.Now()
		for range 3 * sdktrace.DefaultMaxQueueSize {
			_, span := provider.Tracer("test").Start(t.Context(), "call")
			span.End()
		}
		if took := time.Since(began); took != 0 || collector.calls.Load() == 0 {
			t.Errorf("spans waited %v for the collector, which got %d batches", took, collector.calls.Load())
		}
		tracer.Close(t.Context())
		if took := time.Since(began); took != 2*time.Second {
			t.Errorf("Close() took %v, want 2 s", took)
		}
	})
}

// written sends what is written to it.
type written chan string

func (w written) Write(b []byte) (int, error) {
	w <- string(b)
	return len(b), nil
}

func TestRefusedSpansAreLogged(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "quota exceeded "+strings.Repeat("x", 2*maxComplaint), http.StatusForbidden)
	}))
	defer server.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", server.URL)
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "20")
	log := make(written, 10)
	tracer, err := Open(t.Context(), Config{Env: os.Getenv, SlowerThan: time.Second, Logger: slog.New(slog.NewTextHandler(log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	tracer.Late(trace.SpanContext{}, "call", trace.SpanKindServer, time.Second).End()
	text := <-log
	tracer.Close(t.Context())
	if !strings.Contains(text, "spans not exported") || len(text) > 500 || len(log) > 0 {
		t.Errorf("log = %q and %d lines more, want one line of at most 500 bytes", text, len(log))
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
