package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	goclient "github.com/snowraft/snowraft/client"
	"github.com/snowraft/snowraft/internal/limits"
	"github.com/snowraft/snowraft/internal/load"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// benchHolder is who has the workers that are leased to be measured.
const benchHolder = "snowraft-bench"

func (a *app) benchEmbeddedCommand() *cobra.Command {
	var layout string
	lanes := 1
	cmd := &cobra.Command{
		Use:   "embedded",
		Short: "Measure an embedded generator of the Go client",
		Long: `Leases workers through the members, as a Go program with an embedded generator does,
and takes IDs of it from --clients goroutines. The members give windows of time and
no IDs, so what is measured is this machine, and that a generator gets its windows.

Taking one ID takes less than measuring that: for how many there can be, ask for many
in a call (--batch). At the end the workers are given back.`,
		Example: `  snowraft bench embedded
  snowraft bench embedded --lanes 4 --clients 8 --batch 100
  snowraft bench embedded --rate 100000 --duration 10m`,
		Args: arguments(),
	}
	addLayoutFlag(cmd, &layout)
	addFlag(cmd, "", "lanes", "", intValue(&lanes, 1, 64), "how many workers to lease")
	return a.bench(cmd, callTarget{
		noun: "IDs", port: apiPort, setting: true,
		batch: limits.Count, batchHelp: "how many IDs a call takes",
		open: func(ctx context.Context, cfg benchConfig, _ []string) (*benchClients, error) {
			if err := eachMember(cfg, func(c *client) error { // says at once what a generator would wait for
				_, err := snowraftv1.NewLayoutServiceClient(c).GetLayout(ctx, &snowraftv1.GetLayoutRequest{Name: layout})
				return err
			}); err != nil {
				return nil, err
			}
			return a.embed(ctx, cfg, layout, lanes)
		},
	})
}

// embed makes clients that share one generator, once that has a window.
func (a *app) embed(ctx context.Context, cfg benchConfig, layout string, lanes int) (*benchClients, error) {
	c, err := goclient.New(cfg.addresses, goclient.WithTimeout(cfg.timeout))
	if err != nil {
		return nil, err
	}
	g, err := goclient.NewGenerator(c, goclient.WithLayout(layout), goclient.WithLanes(lanes), goclient.WithHolder(benchHolder))
	if err != nil {
		_ = c.Close() // as below
		return nil, err
	}
	b := &benchClients{close: func() {
		ctx, cancel := context.WithTimeout(context.Background(), cfg.timeout)
		defer cancel()
		if err := g.Close(ctx); err != nil {
			a.warn("workers were not given back, and come free when their windows have passed: %v", err)
		}
		_ = c.Close() // nothing is under way any more
	}}
	first, err := g.Ranges(ctx, 1)
	if err != nil {
		b.close()
		return nil, fmt.Errorf("the generator has no window: %s", strings.TrimPrefix(err.Error(), "snowraft: "))
	}
	b.step = first[0].Step
	for range cfg.clients {
		b.callers = append(b.callers, &load.Embedded{Generator: g, Count: cfg.batch})
	}
	return b, nil
}

// share makes clients that are callers of one Go client.
func (b *benchClients) share(cfg benchConfig, layout string) error {
	c, err := goclient.New(cfg.addresses, goclient.WithTimeout(cfg.timeout))
	if err != nil {
		return err
	}
	b.close = func() { _ = c.Close() } // nothing is under way any more
	for range cfg.clients {
		b.callers = append(b.callers, &load.Coalesced{IDs: c.IDs(layout), Count: cfg.batch})
	}
	return nil
}
