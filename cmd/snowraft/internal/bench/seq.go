package bench

import (
	"context"

	"github.com/spf13/cobra"
	"google.golang.org/grpc"

	"github.com/snowraft/snowraft/client"
	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/cmd/snowraft/internal/seq"
	"github.com/snowraft/snowraft/internal/load"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

func newSeq(a *cli.App) *cobra.Command {
	var coalesce bool
	cmd := &cobra.Command{
		Use:   "seq NAME",
		Short: "Measure the numbers of a sequence over gRPC",
		Long: `Measure the numbers of a sequence over gRPC: call NextNumbers from --clients clients,
over one connection to each address. The sequence must exist, and bench takes its numbers.
The mode of the sequence determines what is measured: the leader of a strict sequence, or
the memory of the members of a relaxed one ("snowraft seq create orders --mode relaxed").

With --coalesce, the clients share one Go client, which joins concurrent requests into
one request to the leader or, for a relaxed sequence, to any healthy member.

A sequence that restarts during the measurement repeats numbers as intended: use
--check=false.`,
		Example: `  snowraft bench seq orders
  snowraft bench seq orders --coalesce --clients 1000
  snowraft bench seq invoices --clients 1000 --batch 10 --duration 30s`,
		Args:              seq.Args,
		ValidArgsFunction: a.CompleteFirst(seq.Names),
	}
	addCoalesceFlag(cmd, &coalesce)
	return command(a, cmd, target{
		noun: "numbers", batchHelp: "numbers per call",
		open: func(ctx context.Context, cfg config, args []string) (*clients, error) {
			clients := &clients{signed: true}
			err := eachMember(cfg, func(r *cli.Remote) error {
				resp, err := r.Sequences.GetSequence(ctx, &snowraftv1.GetSequenceRequest{Name: args[0]})
				if err == nil {
					clients.step = magnitude(resp.GetSequence())
				}
				return err
			})
			if err != nil {
				return nil, err
			}
			if coalesce {
				return clients, clients.share(cfg, func(c *client.Client) load.Caller {
					return &load.CoalescedNumbers{Sequence: c.Sequence(args[0]), Count: cfg.batch}
				})
			}
			req := &snowraftv1.NextNumbersRequest{Sequence: args[0], Count: batchOf(cfg)}
			return clients, clients.dial(cfg, func(conn *grpc.ClientConn) load.Caller {
				return &load.Next{Client: snowraftv1.NewSequenceServiceClient(conn), Request: req, Timeout: cfg.timeout}
			})
		},
	})
}

// magnitude returns the distance between successive numbers of a sequence.
func magnitude(s *snowraftv1.Sequence) uint64 {
	switch increment := s.GetIncrement(); {
	case s.Increment == nil:
		return 1
	case increment < 0:
		return -uint64(increment) //nolint:gosec // the same bits; correct for the least number too
	default:
		return uint64(increment)
	}
}
