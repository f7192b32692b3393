package tracing

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

// Work is a piece of work that a process does for a request or for itself. A nil Work is not traced. One goroutine at a time
// may use it.
type Work struct {
	tracer *Tracer
	span   trace.Span // nil without a sampled request
	name   string
	kind   trace.SpanKind
	attrs  []attribute.KeyValue
	began  time.Time
}

// Begin starts work. If ctx has the span of a request, the work gets a child span, which the returned context has. Otherwise
// the work gets a span in End if it was slow.
func (t *Tracer) Begin(ctx context.Context, name string, kind trace.SpanKind, attrs ...attribute.KeyValue) (context.Context, *Work) {
	if t == nil {
		return ctx, nil
	}
	if trace.SpanFromContext(ctx).IsRecording() {
		ctx, span := t.tracer.Start(ctx, name, trace.WithSpanKind(kind), trace.WithAttributes(attrs...))
		return ctx, &Work{span: span}
	}
	return ctx, &Work{tracer: t, name: name, kind: kind, attrs: attrs, began: time.Now()}
}

// End ends work. It is called once. A nonempty errorType, which is a reason or a status code, means that the work failed.
// attrs holds the attributes that become known at the end.
func (w *Work) End(errorType string, attrs ...attribute.KeyValue) {
	if w == nil {
		return
	}
	span := w.span
	if span == nil {
		took := time.Since(w.began)
		if !w.tracer.Slow(took) {
			return
		}
		if span = w.tracer.Late(trace.SpanContext{}, w.name, w.kind, took, w.attrs...); span == nil {
			return
		}
	}
	span.SetAttributes(attrs...)
	if errorType != "" {
		Fail(span, errorType)
	}
	span.End()
}
