package frontend

import (
	"context"
	"net/http"

	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/tap"

	"github.com/snowraft/snowraft/internal/tracing"
	"github.com/snowraft/snowraft/server/kernel"
)

// spanOf starts the span of a gRPC call with a sampled trace context; the span is nil without such a context.
func (s *Server) spanOf(ctx context.Context, method string) (context.Context, trace.Span) {
	if s.cfg.Tracer == nil {
		return ctx, nil
	}
	return s.cfg.Tracer.Serve(ctx, kernel.TraceContextOf(ctx), method[1:])
}

// tap returns the handler that sees the headers of each gRPC call. The handler keeps the trace context. A search for a header
// in the metadata of a call would cost more than all other tracing work for a call without a trace context.
func (s *Server) tap() tap.ServerInHandle {
	if s.cfg.Tracer == nil {
		return charged
	}
	return func(ctx context.Context, info *tap.Info) (context.Context, error) {
		if parent := info.Header[tracing.Parent]; len(parent) == 1 {
			ctx = kernel.WithTraceContext(ctx, parent, info.Header[tracing.State])
		}
		return charged(ctx, info)
	}
}

// traced starts spans of HTTP requests that have a sampled trace context. The inner handler names the spans; see trace.
func (s *Server) traced(next http.Handler) http.Handler {
	if s.cfg.Tracer == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		from := tracing.Received(r.Header.Values(tracing.Parent), r.Header.Values(tracing.State))
		if !from.IsValid() {
			next.ServeHTTP(w, r)
			return
		}
		ctx, span := s.cfg.Tracer.Serve(r.Context(), from, "HTTP")
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
func (s *Server) recording(ctx context.Context) trace.Span {
	if s.cfg.Tracer == nil {
		return nil
	}
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
