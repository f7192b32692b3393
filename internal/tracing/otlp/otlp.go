// Package otlp exports spans to an OpenTelemetry collector, configured by the standard environment variables. [Open]
// returns the tracer that creates the spans.
package otlp

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/snowraft/snowraft/internal/lines"
	"github.com/snowraft/snowraft/internal/tracing"
)

// Config describes the process whose spans are exported.
type Config struct {
	// Env returns an environment variable. The exporters read the variables that Open does not use.
	Env func(name string) string
	// Service, Instance and Version are resource attributes. Values in the environment take precedence.
	Service, Instance, Version string
	// SlowerThan has the meaning of tracing.Config.SlowerThan.
	SlowerThan time.Duration
	Logger     *slog.Logger
}

// Open returns a Tracer, which the caller must close; nil if the environment names no collector. It does not wait for the
// collector. An error names the invalid variable. Open replaces the logger and the error handler that OpenTelemetry has
// per process.
func Open(ctx context.Context, cfg Config) (*tracing.Tracer, error) {
	on, err := enabled(cfg.Env)
	if err != nil || !on {
		return nil, err
	}
	otel.SetLogger(logr.New(sink{cfg.Logger}))
	otel.SetErrorHandler(otel.ErrorHandlerFunc(newComplaints(cfg.Logger).note))
	exporter, err := newExporter(ctx, cfg.Env)
	if err != nil {
		return nil, err
	}
	about, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithAttributes(
		semconv.ServiceName(cfg.Service), semconv.ServiceInstanceID(cfg.Instance), semconv.ServiceVersion(cfg.Version),
	), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithResource(about),
		sdktrace.WithBatcher(exporter),                // drops spans while its queue is full, so that the process never waits for a collector
		sdktrace.WithSampler(sdktrace.AlwaysSample()), // package tracing selects the spans
	)
	return tracing.New(tracing.Config{Provider: provider, SlowerThan: cfg.SlowerThan, Close: provider.Shutdown}), nil
}

// enabled reports whether the environment turns on export by OTLP: it names a collector or the exporter.
func enabled(env func(string) string) (bool, error) {
	if strings.EqualFold(env("OTEL_SDK_DISABLED"), "true") {
		return false, nil
	}
	switch name := env("OTEL_TRACES_EXPORTER"); name {
	case "none":
		return false, nil
	case "otlp":
		return true, nil
	case "":
		return env("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != "" || env("OTEL_EXPORTER_OTLP_ENDPOINT") != "", nil
	default:
		return false, fmt.Errorf("OTEL_TRACES_EXPORTER %q: expected otlp or none", name)
	}
}

func newExporter(ctx context.Context, env func(string) string) (sdktrace.SpanExporter, error) {
	name := "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"
	if env(name) == "" {
		name = "OTEL_EXPORTER_OTLP_PROTOCOL"
	}
	switch protocol := env(name); cmp.Or(protocol, "http/protobuf") {
	case "grpc":
		return otlptracegrpc.New(ctx)
	case "http/protobuf":
		return otlptracehttp.New(ctx)
	default:
		return nil, fmt.Errorf("%s %q: expected grpc or http/protobuf", name, protocol)
	}
}

// complaints writes log lines about the exporter.
type complaints struct {
	logger *slog.Logger
	limit  lines.Limit
}

func newComplaints(l *slog.Logger) *complaints { return &complaints{logger: l} }

// maxComplaint is the longest error text in the log, because some errors include a collector's whole response.
const maxComplaint = 300

func (c *complaints) note(err error) {
	if c.limit.Allow() {
		text := err.Error()
		c.logger.Warn("spans not exported", "error", text[:min(len(text), maxComplaint)])
	}
}
