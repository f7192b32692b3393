package server_test

import (
	"bytes"
	"context"
	"net"
	"sync"
	"testing"

	"go.opentelemetry.io/otel/trace"
	collectorv1 "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonv1 "go.opentelemetry.io/proto/otlp/common/v1"
	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
)

// collector receives spans over OTLP.
type collector struct {
	collectorv1.UnimplementedTraceServiceServer
	address string

	mu    sync.Mutex
	spans []receivedSpan
}

// receivedSpan is a span with the attributes of its resource.
type receivedSpan struct {
	*tracev1.Span
	service, instance string
}

func newCollector(t testing.TB) *collector {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &collector{address: l.Addr().String()}
	s := grpc.NewServer()
	collectorv1.RegisterTraceServiceServer(s, c)
	go func() { _ = s.Serve(l) }()
	t.Cleanup(s.Stop)
	return c
}

// Export implements collectorv1.TraceServiceServer.
func (c *collector) Export(_ context.Context, req *collectorv1.ExportTraceServiceRequest) (*collectorv1.ExportTraceServiceResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, of := range req.GetResourceSpans() {
		about := of.GetResource().GetAttributes()
		for _, scope := range of.GetScopeSpans() {
			for _, s := range scope.GetSpans() {
				c.spans = append(c.spans, receivedSpan{s, value(about, "service.name"), value(about, "service.instance.id")})
			}
		}
	}
	return &collectorv1.ExportTraceServiceResponse{}, nil
}

func value(attributes []*commonv1.KeyValue, key string) string {
	for _, a := range attributes {
		if a.GetKey() == key {
			return a.GetValue().GetStringValue()
		}
	}
	return ""
}

func (s receivedSpan) get(key string) string { return value(s.GetAttributes(), key) }

// all returns the spans that match.
func (c *collector) all(match func(receivedSpan) bool) (spans []receivedSpan) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.spans {
		if match(s) {
			spans = append(spans, s)
		}
	}
	return spans
}

// inTrace matches the spans of a trace.
func inTrace(id trace.TraceID) func(receivedSpan) bool {
	return func(s receivedSpan) bool { return bytes.Equal(s.GetTraceId(), id[:]) }
}
