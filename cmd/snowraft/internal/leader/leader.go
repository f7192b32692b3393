// Package leader has the commands for leadership, below the command that [New]
// returns.
package leader

import (
	"cmp"
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// New returns the command leader.
func New(a *cli.App) *cobra.Command {
	return cli.Group(&cobra.Command{
		Use:   "leader",
		Short: "Show and transfer leadership",
		Long: `Show and transfer leadership. The leader orders the changes that the cluster agrees
on. Members issue IDs without the leader, so a transfer does not interrupt IDs. Strict
sequences pause until the new leader is ready.`,
		Example: `  snowraft leader get
  snowraft leader transfer b`,
	}, newGet(a), newTransfer(a))
}

// show prints a response. The text is words, followed by the leader in the response.
func show(p *cli.Printer, words string, resp interface {
	GetLeaderId() string
	GetLeaderName() string
}) error {
	return p.Answer(resp, cli.Line("%s%q (%s)", words, resp.GetLeaderName(), resp.GetLeaderId()))
}

const (
	electionTimeout = 2 * time.Second // longest wait for an election, which takes less
	pause           = 50 * time.Millisecond
)

func newGet(a *cli.App) *cobra.Command {
	return a.Client(&cobra.Command{
		Use:   "get",
		Short: "Show the leader",
		Long: `Show the leader, as the answering member knows it. During an election the command
waits up to 2 s for a leader.`,
		Example: `  snowraft leader get
  snowraft leader get -o json`,
	}, func(ctx context.Context, r *cli.Remote, out *cli.Printer, _ []string) error {
		moment, cancel := context.WithTimeout(ctx, min(electionTimeout, r.Timeout))
		defer cancel()
		for {
			resp, err := r.Cluster.GetStatus(ctx, &snowraftv1.GetStatusRequest{})
			if err != nil {
				return err
			}
			if resp.GetLeaderId() != "" {
				return show(out, "leader: ", resp)
			}
			select {
			case <-time.After(pause):
			case <-moment.Done():
				return cli.Exit(cli.ExitRepeatable, rpc.NewError(rpc.NoLeader, cmp.Or(resp.GetNoLeader(), "no leader is known")))
			}
		}
	})
}

func newTransfer(a *cli.App) *cobra.Command {
	return a.Client(&cobra.Command{
		ValidArgsFunction: a.CompleteFirst(cli.Members),

		Use:   "transfer [NAME|ID]",
		Short: "Transfer leadership to another voter",
		Long: `Transfer leadership to the given voter, or to the most up-to-date one, and print the
new leader.`,
		Example: `  snowraft leader transfer
  snowraft leader transfer b`,
	}, func(ctx context.Context, r *cli.Remote, out *cli.Printer, args []string) error {
		req := &snowraftv1.TransferLeadershipRequest{}
		if len(args) == 1 {
			req.Member = args[0]
		}
		resp, err := r.Cluster.TransferLeadership(ctx, req)
		if err != nil {
			return err
		}
		return show(out, "transferred leadership to ", resp)
	})
}
