package cluster

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// NewClock returns the command clock.
func NewClock(a *cli.App) *cobra.Command {
	return cli.Group(&cobra.Command{
		Use:   "clock",
		Short: "Repair the observed clock",
		Long: `Repair the observed clock, which is the latest time that a leader's clock has shown.
A member whose clock is behind it by more than the wait threshold issues no IDs.`,
		Example: `  snowraft clock reset`,
	}, newClockReset(a))
}

func newClockReset(a *cli.App) *cobra.Command {
	return a.Client(&cobra.Command{
		Use:   "reset",
		Short: "Set the observed clock to the leader's clock",
		Long: `Set the observed clock to the leader's clock. Use this after a leader's clock was
ahead, when members with correct clocks fail with CLOCK_BEHIND. Check the leader's
clock first (see "snowraft status").

IDs stay unique, because windows protect them. IDs that were issued while the clock
was ahead are greater than those issued next.`,
		Example: `  snowraft clock reset`,
	}, func(ctx context.Context, r *cli.Remote, out *cli.Printer, _ []string) error {
		resp, err := r.Cluster.ResetObservedClock(ctx, &snowraftv1.ResetObservedClockRequest{})
		if err != nil {
			return err
		}
		clock := cli.Stamp(resp.GetObservedClockAtMs())
		return out.Answer(resp, cli.Line("set observed clock to %s", clock))
	})
}
