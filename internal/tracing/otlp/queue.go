package otlp

import (
	"context"
	"log/slog"
	"sync/atomic"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/snowraft/snowraft/internal/tracing"
)

// queue wraps the SDK's span batches and counts the outcomes, which the SDK does not report. It drops a span that ends while the queue is full, so that the
// process never waits for a collector.
type queue struct {
	sdktrace.SpanProcessor
	size    int64
	waiting atomic.Int64
	dropped atomic.Uint64
	counted *counted
}

func newQueue(e sdktrace.SpanExporter, size int64, l *slog.Logger) *queue {
	q := &queue{size: size}
	q.counted = &counted{SpanExporter: e, waiting: &q.waiting, complaints: newComplaints(l)}
	// The SDK's own queue has the same size, so it never drops a span that this queue accepted.
	q.SpanProcessor = sdktrace.NewBatchSpanProcessor(q.counted, sdktrace.WithMaxQueueSize(int(size)))
	return q
}

// OnEnd implements sdktrace.SpanProcessor.
func (q *queue) OnEnd(s sdktrace.ReadOnlySpan) {
	if q.waiting.Add(1) > q.size {
		q.waiting.Add(-1)
		q.dropped.Add(1)
		return
	}
	q.SpanProcessor.OnEnd(s)
}

func (q *queue) counts() tracing.Counts {
	return tracing.Counts{Exported: q.counted.exported.Load(), Failed: q.counted.failed.Load(), Dropped: q.dropped.Load()}
}

// counted is an exporter that counts spans and logs errors.
type counted struct {
	sdktrace.SpanExporter
	waiting          *atomic.Int64
	exported, failed atomic.Uint64
	complaints       *complaints
}

// ExportSpans implements sdktrace.SpanExporter.
func (c *counted) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	err := c.SpanExporter.ExportSpans(ctx, spans)
	c.waiting.Add(-int64(len(spans)))
	if err != nil {
		c.failed.Add(uint64(len(spans)))
		c.complaints.note(err)
		return nil
	}
	c.exported.Add(uint64(len(spans)))
	return nil
}
