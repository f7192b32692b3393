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
		Long: `Measure INCR over the Redis protocol: send INCR of a key from --clients clients with a
connection each. With --batch, a client sends that many commands at once and waits for
all responses; latency is that of the batch. Create the sequence first, in the mode to
measure: "snowraft seq create orders --mode relaxed".

To measure a Redis server, use its address.`,
		Example: `  snowraft bench redis orders
  snowraft bench redis orders --clients 50 --batch 16
  snowraft bench redis orders --addr 127.0.0.1:6379`,
	}, target{
		noun: "numbers", port: cli.RedisPort,
		batch: maxPipeline, batchHelp: "INCR commands per pipeline",
		open: func(ctx context.Context, cfg config, args []string) (*clients, error) {
			access, err := cfg.load()
			if err != nil {
				return nil, err
			}
			return ownConnections(ctx, cfg, func(address string, batch int) closingCaller {
				return load.NewRedis(address, args[0], batch, cfg.timeout, access)
			})
		},
	})
}
