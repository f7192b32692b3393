// Package bench has the commands that measure a cluster, below the command that [New] returns.
package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/internal/limits"
	"github.com/snowraft/snowraft/internal/load"
)

// New returns the command bench.
func New(a *cli.App) *cobra.Command {
	return cli.Group(&cobra.Command{
		Use:   "bench",
		Short: "Measure a cluster and check its results for duplicates",
		Long: `Measure a cluster: request IDs or numbers from many clients at once, and print
throughput, latencies, errors and duplicates. The cluster really issues what bench
requests: use a sequence that nothing depends on.

Without --rate, each client makes one call after the other (closed loop). This finds
the greatest throughput, but understates latencies, because a stalled member receives
no calls in the meantime. With --rate, calls are due at fixed times, and latency counts
from the time at which a call was due.`,
		Example: `  snowraft bench ids
  snowraft bench ids --coalesce --clients 1000
  snowraft bench seq orders --clients 1000 --rate 20000 --duration 1m`,
	}, newIDs(a), newSeq(a))
}

// config holds the settings of a run.
type config struct {
	addresses         []string
	clients           int
	batch             int
	duration, timeout time.Duration
	rate              uint64
	coalesce, check   bool
	access            cli.Access
}

// command makes cmd a command that measures a target.
func command(a *cli.App, cmd *cobra.Command, target target) *cobra.Command {
	cfg := config{
		addresses: []string{fmt.Sprintf("%s:%d", cli.Localhost, cli.APIPort)},
		clients:   64, batch: 1, duration: 10 * time.Second, timeout: cli.DefaultTimeout,
	}
	cli.AddSetting(cmd, "Connection", cli.AddrFlag, cli.AddressesValue(&cfg.addresses, "10.0.0.1:7700,10.0.0.2:7700"),
		"API addresses of members; clients are spread over these")
	a.AddAccessFlags(cmd)
	cli.AddFlag(cmd, "Connection", "timeout", "", cli.DurationValue(&cfg.timeout, time.Millisecond, time.Hour), "longest time of a call")
	cmd.Flags().BoolVar(&cfg.coalesce, "coalesce", false, "share one Go client, which joins concurrent requests")
	cli.AddFlag(cmd, "", "clients", "c", cli.IntValue(&cfg.clients, 1, 100_000), "number of clients that call at the same time")
	cli.AddFlag(cmd, "", "batch", "b", cli.IntValue(&cfg.batch, 1, limits.Count), target.noun+" per call")
	cli.AddFlag(cmd, "", "duration", "d", cli.DurationValue(&cfg.duration, time.Millisecond, 7*24*time.Hour), "time during which calls begin")
	cli.AddFlag(cmd, "", "rate", "r", cli.UintValue(&cfg.rate, 0), "calls per second over all clients; 0 means no limit")
	cmd.Flags().BoolVar(&cfg.check, "check", true, "check results for duplicates")
	return a.Command(cmd, func(ctx context.Context, out *cli.Printer, args []string) error {
		ctx, _, stop := a.Interruptible(ctx)
		defer stop()
		cfg.access = a.Access(cmd.Flags())
		clients, err := target.open(ctx, cfg, args)
		if err != nil {
			return err
		}
		defer clients.close()
		plan := load.Plan{Callers: clients.callers, Duration: cfg.duration, Rate: float64(cfg.rate)}
		if cfg.check {
			plan.Check = load.NewSeen(clients.step, load.DefaultSpans)
		}
		r := report{
			command: cmd.Name(), noun: target.noun, cfg: cfg, connections: clients.connections, signed: target.signed,
			result: load.Run(ctx, plan), interrupted: ctx.Err() != nil,
		}
		if err := r.print(out); err != nil {
			return err
		}
		if skipped := r.result.Report.Skipped; skipped > 0 {
			a.Warn("memory of the check full: %d %s were not checked for duplicates; raise --batch or shorten --duration", skipped, r.noun)
		}
		return r.failure()
	})
}
