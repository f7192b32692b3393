package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/internal/load"
)

func (a *app) benchCommand() *cobra.Command {
	return group(&cobra.Command{
		Use:   "bench",
		Short: "Measure a cluster, and check that what it gives out is unique",
		Long: `Asks members for IDs or numbers from many clients at once, and prints how many
came, how long calls took, what failed, and whether anything came twice. What is
asked for is given out: measure with sequences that nobody counts on.

Without --rate, each client makes one call after the other. This is the closed
loop: it finds the most that there is, but its latencies flatter, as a member that
stalls is asked for nothing meanwhile. With --rate, calls are due at fixed times,
and latency counts from when a call was due.`,
		Example: `  snowraft bench ids
  snowraft bench seq orders --clients 1000 --rate 20000 --duration 1m`,
	}, a.benchIDsCommand(), a.benchSequenceCommand(), a.benchEmbeddedCommand(), a.benchRedisCommand(), a.benchHTTPCommand())
}

// benchConfig is what every bench command can be told.
type benchConfig struct {
	addresses         []string
	clients           int
	batch             int
	duration, timeout time.Duration
	rate              uint64
	check             bool
}

// callTarget is what a bench command asks. The rest is the same for all.
type callTarget struct {
	noun      string // what it gives out, in the plural
	port      int
	setting   bool // SNOWRAFT_ADDR names the addresses
	batch     int  // the largest
	batchHelp string
	// open makes the clients.
	open func(ctx context.Context, cfg benchConfig, args []string) (*benchClients, error)
}

// benchClients are the clients of a run.
type benchClients struct {
	callers     []load.Caller
	connections int    // 0: as many as the Go client makes
	step        uint64 // from one number of a run to the next
	signed      bool   // numbers may be negative
	close       func()
}

// bench makes cmd a command that measures a target.
func (a *app) bench(cmd *cobra.Command, target callTarget) *cobra.Command {
	cfg := benchConfig{
		addresses: []string{fmt.Sprintf("%s:%d", localhost, target.port)},
		clients:   64, batch: 1, duration: 10 * time.Second, timeout: defaultTimeout, check: true,
	}
	const help = "addresses of members; clients are spread over them"
	addresses := addressesValue(&cfg.addresses, fmt.Sprintf("10.0.0.1:%d,10.0.0.2:%[1]d", target.port))
	if target.setting {
		addSetting(cmd, "Connection", addrFlag, addresses, "API "+help)
	} else {
		addFlag(cmd, "Connection", addrFlag, "", addresses, help)
	}
	addFlag(cmd, "Connection", "timeout", "", durationValue(&cfg.timeout, time.Millisecond, time.Hour), "how long a call may take")
	addFlag(cmd, "", "clients", "c", intValue(&cfg.clients, 1, 100_000), "how many clients call at the same time")
	addFlag(cmd, "", "batch", "b", intValue(&cfg.batch, 1, target.batch), target.batchHelp)
	addFlag(cmd, "", "duration", "d", durationValue(&cfg.duration, time.Millisecond, 7*24*time.Hour), "for how long calls are begun")
	addFlag(cmd, "", "rate", "r", uintValue(&cfg.rate, 0), "how many calls are due each second, over all clients; 0 is as many as there can be")
	cmd.Flags().BoolVar(&cfg.check, "check", true, "check that nothing comes twice")
	output := addOutputFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := resolve(cmd.Flags(), a.env, nil); err != nil {
			return err
		}
		ctx, _, stop := a.interruptible(cmd.Context())
		defer stop()
		clients, err := target.open(ctx, cfg, args)
		if err != nil {
			return err
		}
		defer clients.close()
		plan := load.Plan{Callers: clients.callers, Duration: cfg.duration, Rate: float64(cfg.rate)}
		if cfg.check {
			plan.Check = load.NewSeen(clients.step, load.DefaultSpans)
		}
		hide := a.showProgress(&plan, target.noun)
		result := load.Run(ctx, plan)
		hide()
		r := benchReport{
			command: cmd.Name(), noun: target.noun, cfg: cfg, connections: clients.connections, signed: clients.signed,
			interrupted: ctx.Err() != nil, result: result,
		}
		if err := r.print(a.printer(*output)); err != nil {
			return err
		}
		if skipped := result.Report.Skipped; skipped > 0 {
			a.warn("the memory for the check was full: %d %s were not checked for duplicates; ask for more in a call (--batch), or for a shorter time (--duration)",
				skipped, target.noun)
		}
		return r.failure()
	}
	return cmd
}

// showProgress has a run tell its progress, on a terminal, and returns what hides it again.
func (a *app) showProgress(plan *load.Plan, noun string) (hide func()) {
	if terminal, _ := a.terminal(a.stderr); !terminal {
		return func() {}
	}
	var before load.Progress
	plan.Progress = func(p load.Progress) {
		fmt.Fprintf(a.stderr, "\r\x1b[K%s", progressLine(before, p, noun))
		before = p
	}
	return func() { fmt.Fprint(a.stderr, "\r\x1b[K") }
}

// progressLine says what came since before.
func progressLine(before, p load.Progress, noun string) string {
	since := (p.Elapsed - before.Elapsed).Seconds()
	rate := func(now, then uint64) uint64 { return uint64(float64(now-then)/since + 0.5) }
	return fmt.Sprintf("%v  %d calls/s  %d %s/s  %d failed", p.Elapsed.Round(time.Second),
		rate(p.Calls, before.Calls), rate(p.Numbers, before.Numbers), noun, p.Failed)
}

// failure is why a run that was measured is a failure all the same.
func (r benchReport) failure() error {
	if v := r.result.Report; v.Duplicates > 0 {
		return fmt.Errorf("%d of %d %s came a second time, expected none: %s%s", v.Duplicates, v.Checked, r.noun,
			strings.Join(r.examples(), ", "), map[bool]string{true: ", ..."}[uint64(len(v.Examples)) < v.Duplicates])
	}
	if r.result.Calls > 0 || r.interrupted {
		return nil
	}
	if len(r.result.Failures) > 0 {
		f := r.result.Failures[0]
		return fmt.Errorf("no call succeeded: %s [%s]", oneLine(f.Example), f.Reason)
	}
	return errors.New("no call was made, expected a longer --duration or a higher --rate")
}
