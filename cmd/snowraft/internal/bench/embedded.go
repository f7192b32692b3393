package bench

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/client"
	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/internal/limits"
	"github.com/snowraft/snowraft/internal/load"
	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// Holder is the name of the holder of the leased workers.
const Holder = "snowraft-bench"

func newEmbedded(a *cli.App) *cobra.Command {
	var layout string
	lanes := 1
	cmd := &cobra.Command{
		Use:   "embedded",
		Short: "Measure an embedded generator of the Go client",
		Long: `Measure an embedded generator: acquire workers through the members, as a Go program
with an embedded generator does, and take IDs from --clients goroutines. Members only
grant windows, so the result depends on this machine and on the timely grant of windows.

Measuring a call takes longer than issuing one ID: use --batch to find the greatest
throughput. At the end, bench releases the workers.`,
		Example: `  snowraft bench embedded
  snowraft bench embedded --lanes 4 --clients 8 --batch 100
  snowraft bench embedded --rate 100000 --duration 10m`,
	}
	a.AddLayoutFlag(cmd, &layout)
	cli.AddFlag(cmd, "", "lanes", "", cli.IntValue(&lanes, 1, limits.Lanes), "number of workers to acquire")
	return command(a, cmd, target{
		noun: "IDs", batchHelp: "IDs per call",
		open: func(ctx context.Context, cfg config, _ []string) (*clients, error) {
			if err := eachMember(cfg, func(r *cli.Remote) error { // fails at once, where a generator would wait
				_, err := r.Layouts.GetLayout(ctx, &snowraftv1.GetLayoutRequest{Name: layout})
				return err
			}); err != nil {
				return nil, err
			}
			return embed(ctx, a, cfg, layout, lanes)
		},
	})
}

// embed makes clients that share one generator, after the generator was granted a window.
func embed(ctx context.Context, a *cli.App, cfg config, layout string, lanes int) (*clients, error) {
	c, err := cfg.client()
	if err != nil {
		return nil, err
	}
	g, err := client.NewGenerator(c, client.WithGeneratorLayout(layout), client.WithGeneratorLanes(lanes), client.WithGeneratorHolder(Holder))
	if err != nil {
		_ = c.Close() // no call is in progress, either
		return nil, err
	}
	b := &clients{close: func() {
		ctx, cancel := context.WithTimeout(context.Background(), cfg.timeout)
		defer cancel()
		if err := g.Close(ctx); err != nil {
			a.Warn("workers not released; they become free when their windows end: %v", err)
		}
		_ = c.Close() // no call is in progress
	}}
	first, err := g.Ranges(ctx, 1)
	if err != nil {
		b.close()
		return nil, windowless(err)
	}
	b.step = uint64(first[0].Step) //nolint:gosec // never negative
	for range cfg.clients {
		b.callers = append(b.callers, &load.Embedded{Generator: g, Count: cfg.batch})
	}
	return b, nil
}

// windowless returns the error of a generator that was granted no window.
func windowless(err error) error {
	e := *rpc.FromError(err)
	e.Message = "the generator has no window: " + strings.TrimPrefix(err.Error(), "snowraft: ")
	if failed, ok := errors.AsType[*client.Error](err); ok && failed.Repeatable() {
		return cli.ForNow(&e)
	}
	return &e
}
