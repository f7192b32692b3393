// Package tracing decides which work of a process is traced, and creates the spans.
//
// It creates spans for requests with a sampled trace context and for the work done for them. It also creates spans for other
// requests, and for work of a leader, that take longer than a limit. Such a span is created after the work ends, so that fast
// work costs only two readings of the clock. Both kinds of spans are bounded per second, because any caller can request them.
//
// A nil [Tracer] creates no spans and reads no clock. It turns tracing off.
//
// Spans hold no error texts, no tokens and no names that callers choose.
package tracing
