package leader

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

const (
	patience = 2 * time.Second // with an election, which takes less
	pause    = 50 * time.Millisecond
)

func newShow(a *cli.App) *cobra.Command {
	return a.Client(&cobra.Command{
		Use:   "show",
		Short: "Show who leads",
		Long: `Shows who leads, as the member that answers knows it. While an election is under
way it waits for a moment; it fails when no leader is known then.`,
		Example: `  snowraft leader show
  snowraft leader show -o json`,
		Args: cli.Args(),
	}, func(ctx context.Context, r *cli.Remote, out *cli.Printer, _ []string) error {
		moment, end := context.WithTimeout(ctx, min(patience, r.Timeout))
		defer end()
		for {
			resp, err := r.Cluster.GetStatus(ctx, &snowraftv1.GetStatusRequest{})
			if err != nil {
				return err
			}
			if resp.GetLeaderId() != "" {
				return show(out, resp.GetLeaderId(), resp.GetLeaderName())
			}
			select {
			case <-time.After(pause):
			case <-moment.Done():
				return errors.New("no leader is known now: no majority of the voters is alive, or an election takes long")
			}
		}
	})
}
