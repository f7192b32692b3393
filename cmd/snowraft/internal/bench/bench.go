// Package bench has the commands that measure a cluster, below the command that [New] returns.
package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
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
from the time at which a call was due.

With several numbers of --clients, bench measures with each number of clients in turn,
for --duration each, and prints a row, or a line of JSON, for each.`,
		Example: `  snowraft bench ids
  snowraft bench ids --coalesce --clients 1,64,1000
  snowraft bench seq orders --clients 1000 --rate 20000 --duration 1m`,
	}, newIDs(a), newSeq(a), newEmbedded(a), newRedis(a), newHTTP(a))
}

// config holds the settings of every bench command.
type config struct {
	addresses         []string
	clients           int
	batch             int
	duration, timeout time.Duration
	rate              uint64
	check             bool
	access            cli.Access
}

// target is the system under test of a bench command. Everything else is equal for all bench commands.
type target struct {
	noun      string // issued things, in the plural: "IDs"
	port      int
	setting   bool // SNOWRAFT_ADDR names the addresses
	batch     int  // largest batch
	batchHelp string
	// open makes the clients.
	open func(ctx context.Context, cfg config, args []string) (*clients, error)
}

// command makes cmd a command that measures a target.
func command(a *cli.App, cmd *cobra.Command, target target) *cobra.Command {
	counts := []int{64}
	cfg := config{
		addresses: []string{fmt.Sprintf("%s:%d", cli.Localhost, target.port)},
		batch:     1, duration: 10 * time.Second, timeout: cli.DefaultTimeout, check: true,
	}
	const help = "addresses of members; clients are spread over these"
	addresses := cli.AddressesValue(&cfg.addresses, fmt.Sprintf("10.0.0.1:%d,10.0.0.2:%[1]d", target.port))
	if target.setting {
		cli.AddSetting(cmd, "Connection", cli.AddrFlag, addresses, "API "+help)
	} else {
		cli.AddFlag(cmd, "Connection", cli.AddrFlag, "", addresses, help)
	}
	cli.AddAccessFlags(cmd)
	cli.AddFlag(cmd, "Connection", "timeout", "", cli.DurationValue(&cfg.timeout, time.Millisecond, time.Hour), "longest time of a call")
	clients := cli.IntsValue(&counts, 1, 100_000)
	clients.Among = []string{"64", "1,64,1000"}
	cli.AddFlag(cmd, "", "clients", "c", clients, "number of clients that call at the same time; several are measured in turn")
	cli.AddFlag(cmd, "", "batch", "b", cli.IntValue(&cfg.batch, 1, target.batch), target.batchHelp)
	cli.AddFlag(cmd, "", "duration", "d", cli.DurationValue(&cfg.duration, time.Millisecond, 7*24*time.Hour), "time during which calls begin")
	cli.AddFlag(cmd, "", "rate", "r", cli.UintValue(&cfg.rate, 0), "calls per second over all clients; 0 means no limit")
	cmd.Flags().BoolVar(&cfg.check, "check", true, "check results for duplicates")
	return a.Command(cmd, func(ctx context.Context, out *cli.Printer, args []string) error {
		ctx, _, stop := a.Interruptible(ctx)
		defer stop()
		cfg.access = a.Access(cmd.Flags())
		var seen *load.Seen
		return measure(a, out, counts, func(count int) (r report, err error) {
			cfg := cfg
			cfg.clients = count
			clients, err := target.open(ctx, cfg, args)
			if err != nil {
				return report{}, err
			}
			defer clients.close()
			if cfg.check && seen == nil {
				seen = load.NewSeen(clients.step, load.DefaultSpans)
			}
			plan := load.Plan{Callers: clients.callers, Duration: cfg.duration, Rate: float64(cfg.rate), Check: seen}
			hide := showProgress(a, &plan, target.noun)
			defer hide()
			return report{
				command: cmd.Name(), noun: target.noun, cfg: cfg, connections: clients.connections, signed: clients.signed,
				result: load.Run(ctx, plan), interrupted: ctx.Err() != nil,
			}, nil
		})
	})
}

// measure runs with each number of clients in turn, until a run is interrupted, and prints the results.
func measure(a *cli.App, out *cli.Printer, counts []int, run func(clients int) (report, error)) error {
	var (
		all     reports
		checked load.DuplicateReport // outcome of the runs before
	)
	for _, count := range counts {
		r, err := run(count)
		if err != nil {
			return err
		}
		r.result.Report, checked = since(checked, r.result.Report), r.result.Report
		all = append(all, r)
		if out.JSON || len(counts) == 1 {
			if err := r.print(out); err != nil {
				return err
			}
		}
		if r.interrupted {
			break
		}
	}
	if !out.JSON && len(counts) > 1 {
		if err := all.print(out); err != nil {
			return err
		}
	}
	if checked.Skipped > 0 {
		a.Warn("memory of the check full: %d %s were not checked for duplicates; raise --batch or shorten --duration",
			checked.Skipped, all[0].noun)
	}
	for _, r := range all {
		if err := r.failure(); err != nil {
			return err
		}
	}
	return nil
}

// since returns the difference of two reports of the same check: the share of the runs between them.
func since(before, now load.DuplicateReport) load.DuplicateReport {
	return load.DuplicateReport{
		Checked: now.Checked - before.Checked, Skipped: now.Skipped - before.Skipped, Duplicates: now.Duplicates - before.Duplicates,
		Examples: now.Examples[len(before.Examples):],
	}
}

// showProgress makes a run report its progress if standard error is a terminal. The function hide clears the progress.
func showProgress(a *cli.App, plan *load.Plan, noun string) (hide func()) {
	if terminal, _ := a.Terminal(a.Stderr); !terminal {
		return func() {}
	}
	var before load.Progress
	plan.Progress = func(p load.Progress) {
		fmt.Fprintf(a.Stderr, "\r\x1b[K%s", progressLine(before, p, noun))
		before = p
	}
	return func() { fmt.Fprint(a.Stderr, "\r\x1b[K") }
}

// progressLine formats the progress between before and p.
func progressLine(before, p load.Progress, noun string) string {
	since := (p.Elapsed - before.Elapsed).Seconds()
	rate := func(now, then uint64) uint64 { return uint64(float64(now-then)/since + 0.5) }
	return fmt.Sprintf("%v  %d calls/s  %d %s/s  %d failed", p.Elapsed.Round(time.Second),
		rate(p.Calls, before.Calls), rate(p.Numbers, before.Numbers), noun, p.Failed)
}
