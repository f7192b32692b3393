package serve

import (
	"cmp"
	"context"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/internal/tracing"
	"github.com/snowraft/snowraft/internal/tracing/otlp"
)

const (
	// slowDefault is the duration from which a request is traced although its caller did not request a trace.
	slowDefault = 250 * time.Millisecond
	slowMost    = time.Hour
)

func addTraceFlags(cmd *cobra.Command, c *config) {
	c.slowerThan = slowDefault
	cli.AddSetting(cmd, "Tracing", "trace-slower-than", cli.DurationValue(&c.slowerThan, 0, slowMost),
		"least duration of a request that is traced without a sampled trace context; 0 disables; needs OTEL_EXPORTER_OTLP_ENDPOINT")
}

// trace returns the tracer of a member or gateway; nil if the environment names no collector.
func (h *Host) trace(ctx context.Context, service, name string, slowerThan time.Duration, logger *slog.Logger) (*tracing.Tracer, error) {
	host, _ := os.Hostname()
	t, err := otlp.Open(ctx, otlp.Config{
		Env: h.Env, Service: service, Instance: cmp.Or(name, host), Version: h.Version, SlowerThan: slowerThan, Logger: logger,
	})
	if err != nil {
		return nil, cli.Usagef("%v", err)
	}
	return t, nil
}

// The default names of the services; OTEL_SERVICE_NAME overrides them.
const (
	memberService  = "snowraft"
	gatewayService = "snowraft-gateway"
)
