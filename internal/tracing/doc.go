// Package tracing decides which work of a process is traced, and makes the spans of it.
//
// Spans are made of requests that come with a sampled trace context, of what is done for them, and of requests and a leader's
// work that take longer than a limit. The span of the latter is made when the work is over, so work that is quick costs
// nothing but two readings of the clock. Both kinds of spans are bounded per second, because any caller can ask for them.
//
// A nil [Tracer] makes no spans and reads no clock: it is how tracing is off.
//
// Spans hold no text of errors, no tokens and no names that callers choose.
package tracing
