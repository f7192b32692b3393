package bench

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/internal/load"
)

const maxPipeline = 10_000

func newRedis(a *cli.App) *cobra.Command {
	return command(a, &cobra.Command{
		Use:   "redis KEY",
		Short: "Measure INCR over the Redis protocol",
		Long: `Sends INCR of a key from --clients clients, each on a connection of its own. With
--batch, a client sends that many at once and waits for all answers, as clients that
pipeline do; latency is that of the whole batch. A key that is no sequence becomes
one, as members are configured to do.

It measures a Redis as well: name its address.`,
		Example: `  snowraft bench redis orders
  snowraft bench redis orders --clients 50 --batch 16
  snowraft bench redis orders --addr 127.0.0.1:6379`,
	}, target{
		noun: "numbers", port: cli.RedisPort,
		batch: maxPipeline, batchHelp: "how many INCRs are sent at once",
		open: func(ctx context.Context, cfg config, args []string) (*clients, error) {
			return ownConnections(ctx, cfg, func(address string, batch int) closingCaller {
				return load.NewRedis(address, args[0], batch, cfg.timeout)
			})
		},
	})
}
