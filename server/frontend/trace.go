package frontend

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/tap"

	"github.com/snowraft/snowraft/internal/rpc"
	"github.com/snowraft/snowraft/internal/tracing"
)

// spanOf starts the span of a gRPC call with a sampled trace context; the span is nil without such a context.
func (s *Server) spanOf(ctx context.Context, method string) (context.Context, trace.Span) {
	if s.tracer == nil {
		return ctx, nil
	}
	return s.tracer.Serve(ctx, callerOf(ctx), method[1:])
}

// tap returns the handler that sees the headers of each gRPC call. The handler keeps the trace context. A search for a header
// in the metadata of a call would cost more than all other tracing work for a call without a trace context.
func (s *Server) tap() tap.ServerInHandle {
	if s.tracer == nil {
		return s.silence.tap
	}
	return func(ctx context.Context, info *tap.Info) (context.Context, error) {
		if parent := info.Header[tracing.Parent]; len(parent) == 1 {
			ctx = context.WithValue(ctx, callerKey{}, &caller{parent, info.Header[tracing.State]})
		}
		return s.silence.tap(ctx, info)
	}
}

// callerKey is the context key of a *caller, the received trace context of a gRPC call.
type callerKey struct{}

type caller struct{ parents, states []string }

// callerOf returns the trace context of a gRPC call; invalid without one.
func callerOf(ctx context.Context) trace.SpanContext {
	c, ok := ctx.Value(callerKey{}).(*caller)
	if !ok {
		return trace.SpanContext{}
	}
	return tracing.Received(c.parents, c.states)
}

// traced starts spans of HTTP requests that have a sampled trace context. The inner handler names the spans; see trace.
func (s *Server) traced(next http.Handler) http.Handler {
	if s.tracer == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		from := tracing.Received(r.Header.Values(tracing.Parent), r.Header.Values(tracing.State))
		if !from.IsValid() {
			next.ServeHTTP(w, r)
			return
		}
		ctx, span := s.tracer.Serve(r.Context(), from, "HTTP")
		if span == nil {
			next.ServeHTTP(w, r.WithContext(trace.ContextWithRemoteSpanContext(ctx, from)))
			return
		}
		sent := &sentStatus{ResponseWriter: w, code: http.StatusOK}
		defer func() {
			span.SetAttributes(semconv.HTTPResponseStatusCode(sent.code))
			span.End()
		}()
		next.ServeHTTP(sent, r.WithContext(ctx))
	})
}

// recording returns the span of an HTTP request; nil if it has none.
func recording(ctx context.Context) trace.Span {
	if span := trace.SpanFromContext(ctx); span.IsRecording() {
		return span
	}
	return nil
}

// sentStatus records the status code of an answer.
type sentStatus struct {
	http.ResponseWriter
	code int
}

// WriteHeader implements http.ResponseWriter.
func (s *sentStatus) WriteHeader(code int) {
	s.code = code
	s.ResponseWriter.WriteHeader(code)
}

// Unwrap is used by http.ResponseController.
func (s *sentStatus) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// trace completes the span of an answered request. Without a span, it creates one if the request was slow.
func (m *method) trace(ctx context.Context, span trace.Span, err error, took time.Duration) {
	late := span == nil
	if late {
		if !m.tracer.Slow(took) {
			return
		}
		from := trace.SpanContextFromContext(ctx)
		if !from.IsValid() {
			from = callerOf(ctx)
		}
		if span = m.tracer.Late(from, m.name, trace.SpanKindServer, took); span == nil {
			return
		}
	}
	span.SetName(m.name)
	span.SetAttributes(m.attributes()...)
	code := codes.OK
	if err != nil {
		e := rpc.FromError(err)
		code = e.Code
		if fault(code) {
			tracing.Fail(span, e.Type())
		} else {
			span.SetAttributes(semconv.ErrorTypeKey.String(e.Type()))
		}
	}
	if m.protocol == protocolGRPC {
		span.SetAttributes(semconv.RPCResponseStatusCode(rpc.CodeName(code)))
	}
	if m.protocol != protocolHTTP || late {
		span.End() // otherwise traced ends the span, with the status
	}
}

// attributes returns the span attributes of the method.
func (m *method) attributes() []attribute.KeyValue {
	switch m.protocol {
	case protocolGRPC:
		return []attribute.KeyValue{semconv.RPCSystemNameGRPC, semconv.RPCMethod(m.name)}
	case protocolHTTP:
		verb, route, ok := strings.Cut(m.name, " ")
		if !ok {
			return nil
		}
		return []attribute.KeyValue{semconv.HTTPRequestMethodKey.String(verb), semconv.HTTPRoute(route)}
	case protocolRedis:
		return []attribute.KeyValue{semconv.DBSystemNameRedis, semconv.DBOperationName(m.name)}
	default:
		return []attribute.KeyValue{semconv.RPCSystemNameKey.String(m.protocol), semconv.RPCMethod(m.name)}
	}
}

// fault reports whether a code means that the server failed, by OpenTelemetry's convention for server spans.
func fault(c codes.Code) bool {
	switch c {
	case codes.Unknown, codes.DeadlineExceeded, codes.Unimplemented, codes.Internal, codes.Unavailable, codes.DataLoss:
		return true
	default:
		return false
	}
}

var descSpans = Desc("trace_spans_total", "Spans of traces, by what became of them.", "outcome")

// spanCollector reads the counts of spans at each scrape.
type spanCollector struct{ tracer *tracing.Tracer }

// Describe implements prometheus.Collector.
func (spanCollector) Describe(ch chan<- *prometheus.Desc) { ch <- descSpans }

// Collect implements prometheus.Collector.
func (c spanCollector) Collect(ch chan<- prometheus.Metric) {
	counts := c.tracer.Counts()
	for outcome, n := range map[string]uint64{
		"exported": counts.Exported, "failed": counts.Failed, "dropped": counts.Dropped, "limited": counts.Limited,
	} {
		ch <- prometheus.MustNewConstMetric(descSpans, prometheus.CounterValue, float64(n), outcome)
	}
}
