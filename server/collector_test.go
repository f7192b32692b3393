package server_test

import (
	"context"
	"sync"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/snowraft/snowraft/internal/tracing"
)

// collector receives the spans of processes when they end.
type collector struct {
	mu    sync.Mutex
	spans []receivedSpan
}

// receivedSpan is a span of a process.
type receivedSpan struct {
	sdktrace.ReadOnlySpan
	instance string // name of the process
}

// tracer returns the tracer of a process.
func (c *collector) tracer(instance string, slowerThan time.Duration) *tracing.Tracer {
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter{c, instance}), sdktrace.WithSampler(sdktrace.AlwaysSample()))
	return tracing.New(tracing.Config{Provider: provider, SlowerThan: slowerThan, Close: provider.Shutdown})
}

// exporter sends the spans of a process to a collector.
type exporter struct {
	to       *collector
	instance string
}

// ExportSpans implements sdktrace.SpanExporter.
func (e exporter) ExportSpans(_ context.Context, spans []sdktrace.ReadOnlySpan) error {
	e.to.mu.Lock()
	defer e.to.mu.Unlock()
	for _, s := range spans {
		e.to.spans = append(e.to.spans, receivedSpan{s, e.instance})
	}
	return nil
}

// Shutdown implements sdktrace.SpanExporter.
func (exporter) Shutdown(context.Context) error { return nil }

// get returns an attribute as text; empty if the span lacks it.
func (s receivedSpan) get(key string) string {
	for _, a := range s.Attributes() {
		if string(a.Key) == key {
			return a.Value.String()
		}
	}
	return ""
}

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
	return func(s receivedSpan) bool { return s.SpanContext().TraceID() == id }
}
