package tracing

import (
	"context"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
)

const (
	// scope is the name of the instrumentation.
	scope = "github.com/snowraft/snowraft"
	// maxSampled is the most sampled requests per second that get a span, and maxSlow the most slow ones, and works that are
	// not part of a request.
	maxSampled = 1000
	maxSlow    = 50
)

// Counts are the spans of a process by what became of them.
type Counts struct {
	Exported uint64 // the collector has them
	Failed   uint64 // the collector refused them or did not answer
	Dropped  uint64 // the queue was full
	Limited  uint64 // not made, because there were too many in that second
}

// Config describes a Tracer.
type Config struct {
	Provider trace.TracerProvider
	// SlowerThan is the time after which work is traced that no sampled request asked for; 0: it is never traced.
	SlowerThan time.Duration
	// Counts returns what became of the spans that were made.
	Counts func() Counts
	// Close sends the spans that are left, until ctx ends.
	Close func(ctx context.Context) error
}

// Tracer makes the spans of a process. Its methods may be called from any goroutine.
type Tracer struct {
	cfg     Config
	tracer  trace.Tracer
	sampled bucket
	slow    bucket
	limited atomic.Uint64
}

// New returns a Tracer.
func New(cfg Config) *Tracer {
	return &Tracer{
		cfg: cfg, tracer: cfg.Provider.Tracer(scope, trace.WithSchemaURL(semconv.SchemaURL)),
		sampled: bucket{rate: maxSampled}, slow: bucket{rate: maxSlow},
	}
}

// Counts returns what became of spans.
func (t *Tracer) Counts() Counts {
	if t == nil {
		return Counts{}
	}
	counts := t.cfg.Counts()
	counts.Limited = t.limited.Load()
	return counts
}

// closeWithin bounds the wait for the collector when a process stops.
const closeWithin = 2 * time.Second

// Close sends the spans that are left. A collector that does not answer delays it for 2 s at most.
func (t *Tracer) Close(ctx context.Context) {
	if t == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, closeWithin)
	defer cancel()
	_ = t.cfg.Close(ctx) // what was not sent in time is lost
}

// Slow reports whether work that took so long is traced although no sampled request asked for it.
func (t *Tracer) Slow(took time.Duration) bool {
	return t != nil && t.cfg.SlowerThan > 0 && took >= t.cfg.SlowerThan
}

// Serve begins the span of a request with a remote parent. Without a sampled parent, the span is nil and the context is ctx.
func (t *Tracer) Serve(ctx context.Context, parent trace.SpanContext, name string, attrs ...attribute.KeyValue) (context.Context, trace.Span) {
	if !parent.IsSampled() || !t.allow(&t.sampled) {
		return ctx, nil
	}
	return t.tracer.Start(trace.ContextWithRemoteSpanContext(ctx, parent), name, trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(attrs...))
}

// Late returns the span of a request or of work that was slow and is over now, nil if there were too many. The parent may be
// invalid. The caller ends the span.
func (t *Tracer) Late(parent trace.SpanContext, name string, kind trace.SpanKind, took time.Duration, attrs ...attribute.KeyValue) trace.Span {
	if !t.allow(&t.slow) {
		return nil
	}
	_, span := t.tracer.Start(trace.ContextWithRemoteSpanContext(context.Background(), parent), name,
		trace.WithSpanKind(kind), trace.WithTimestamp(time.Now().Add(-took)), trace.WithAttributes(attrs...))
	return span
}

// allow takes from a bucket, and counts what it refuses.
func (t *Tracer) allow(b *bucket) bool {
	if b.take(time.Now()) {
		return true
	}
	t.limited.Add(1)
	return false
}

// Fail notes in a span why its work failed: errorType is a reason or a status code.
func Fail(span trace.Span, errorType string) {
	span.SetAttributes(semconv.ErrorTypeKey.String(errorType))
	span.SetStatus(codes.Error, "")
}
