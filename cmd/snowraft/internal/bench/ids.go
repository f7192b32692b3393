package bench

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"google.golang.org/grpc"

	"github.com/snowraft/snowraft/client"
	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/internal/limits"
	"github.com/snowraft/snowraft/internal/load"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

func newIDs(a *cli.App) *cobra.Command {
	var (
		layout           string
		packed, coalesce bool
	)
	cmd := &cobra.Command{
		Use:   "ids",
		Short: "Measure IDs over gRPC",
		Long: `Measure IDs over gRPC: call GenerateIds from --clients clients, over one connection to
each address. Members return ranges of IDs, whose size does not depend on --batch; with
--packed they return the IDs themselves.

With --coalesce, the clients share one Go client, which joins concurrent requests into
one request to a healthy member.

The check for duplicates keeps all IDs as ranges in bounded memory, and warns when that
is full.`,
		Example: `  snowraft bench ids
  snowraft bench ids --batch 10000 --packed --layout orders
  snowraft bench ids --coalesce --clients 1000
  snowraft bench ids --rate 5000 --duration 1m \
    --addr 10.0.0.1:7700,10.0.0.2:7700 -o json`,
	}
	a.AddLayoutFlag(cmd, &layout)
	cmd.Flags().BoolVar(&packed, "packed", false, "request the IDs themselves instead of ranges")
	addCoalesceFlag(cmd, &coalesce)
	return command(a, cmd, target{
		noun: "IDs", batchHelp: fmt.Sprintf("IDs per call, at most %d with --packed", limits.Packed),
		open: func(ctx context.Context, cfg config, _ []string) (*clients, error) {
			if packed && cfg.batch > limits.Packed {
				return nil, cli.Usagef("--batch \"%d\": expected at most %d with --packed", cfg.batch, limits.Packed)
			}
			if packed && coalesce {
				return nil, cli.Usagef("--packed cannot be combined with --coalesce")
			}
			clients := &clients{}
			err := eachMember(cfg, func(r *cli.Remote) error {
				resp, err := r.IDs.GenerateIds(ctx, &snowraftv1.GenerateIdsRequest{Layout: layout, Count: 1})
				if err == nil && len(resp.GetRanges()) > 0 {
					clients.step = uint64(resp.GetRanges()[0].GetStep()) //nolint:gosec // never negative
				}
				return err
			})
			if err != nil {
				return nil, err
			}
			if coalesce {
				return clients, clients.share(cfg, func(c *client.Client) load.Caller {
					return &load.Coalesced{IDs: c.IDs(layout), Count: cfg.batch}
				})
			}
			req := &snowraftv1.GenerateIdsRequest{Layout: layout, Count: batchOf(cfg), Packed: new(packed)}
			return clients, clients.dial(cfg, func(conn *grpc.ClientConn) load.Caller {
				return &load.IDs{Client: snowraftv1.NewIdServiceClient(conn), Request: req, Timeout: cfg.timeout}
			})
		},
	})
}
