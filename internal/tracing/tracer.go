package tracing

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/time/rate"
)

const (
	// scope is the name of the instrumentation.
	scope = "github.com/snowraft/snowraft"
	// maxSampled is the largest number of spans for sampled requests per second. maxSlow is the largest number per second of
	// spans for slow requests and for slow work outside requests.
	maxSampled = 1000
	maxSlow    = 50
)

// Config describes a Tracer.
type Config struct {
	Provider trace.TracerProvider
	// SlowerThan is the duration from which work without a sampled request is traced; 0: never.
	SlowerThan time.Duration
	// Close sends the remaining spans until ctx ends.
	Close func(ctx context.Context) error
}

// Tracer creates the spans of a process. Its methods may be called from any goroutine. The methods of a nil Tracer create no
// spans.
type Tracer struct {
	cfg     Config
	tracer  trace.Tracer
	sampled *rate.Limiter // no sampler of the SDK limits spans per second
	slow    *rate.Limiter
}

// New returns a Tracer, which the caller must close. Provider and Close of cfg are required.
func New(cfg Config) *Tracer {
	return &Tracer{
		cfg: cfg, tracer: cfg.Provider.Tracer(scope, trace.WithSchemaURL(semconv.SchemaURL)),
		sampled: rate.NewLimiter(maxSampled, maxSampled), slow: rate.NewLimiter(maxSlow, maxSlow),
	}
}

// closeWithin bounds the wait for the collector when a process stops.
const closeWithin = 2 * time.Second

// Close sends the remaining spans. A collector that does not answer delays Close by at most 2 s.
func (t *Tracer) Close(ctx context.Context) {
	if t == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, closeWithin)
	defer cancel()
	_ = t.cfg.Close(ctx) // unsent spans are lost
}

// Slow reports whether work of this duration is traced even without a sampled request.
func (t *Tracer) Slow(took time.Duration) bool {
	return t != nil && t.cfg.SlowerThan > 0 && took >= t.cfg.SlowerThan
}

// Serve starts the span of a request with a remote parent. Without a sampled parent, or beyond 1000 spans per second, it
// returns ctx and a nil span. The caller ends the span.
func (t *Tracer) Serve(ctx context.Context, parent trace.SpanContext, name string, attrs ...attribute.KeyValue) (context.Context, trace.Span) {
	if t == nil || !parent.IsSampled() || !t.sampled.Allow() {
		return ctx, nil
	}
	return t.tracer.Start(trace.ContextWithRemoteSpanContext(ctx, parent), name, trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(attrs...))
}

// Late returns the span of slow work that has ended; nil beyond 50 such spans per second. The parent may be invalid. The
// caller ends the span.
func (t *Tracer) Late(parent trace.SpanContext, name string, kind trace.SpanKind, took time.Duration, attrs ...attribute.KeyValue) trace.Span {
	if t == nil || !t.slow.Allow() {
		return nil
	}
	_, span := t.tracer.Start(trace.ContextWithRemoteSpanContext(context.Background(), parent), name,
		trace.WithSpanKind(kind), trace.WithTimestamp(time.Now().Add(-took)), trace.WithAttributes(attrs...))
	return span
}

// Fail records in a span that its work failed; errorType is a reason or a status code.
func Fail(span trace.Span, errorType string) {
	span.SetAttributes(semconv.ErrorTypeKey.String(errorType))
	span.SetStatus(codes.Error, "")
}
