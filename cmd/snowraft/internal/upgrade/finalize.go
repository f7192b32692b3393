package upgrade

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

func newFinalize(a *cli.App) *cobra.Command {
	var without []string
	cmd := &cobra.Command{
		Use:   "finalize",
		Short: "Finalize the upgrade, and rule out a downgrade",
		Long: `Finalize the upgrade: allow the commands that all members know, and rule out a downgrade.
A member that knows fewer commands cannot start afterwards. The command fails while a
member knows no newer commands or is not alive, and names each such member.

With --without, the upgrade does not wait for the given members. They must run the newer
program before they can rejoin. The other voters must be enough for quorum.`,
		Example: `  snowraft upgrade finalize
  snowraft upgrade finalize --without c`,
	}
	cli.AddFlag(cmd, "", "without", "", cli.RepeatedValue(&without, "NAME|ID", "a name or ID of a member", func(s string) bool { return s != "" }), "member not to wait for; repeat the flag for several")
	a.CompleteFlag(cmd, "without", cli.Members)
	ask := a.Confirm(cmd)
	return a.Client(cmd, func(ctx context.Context, r *cli.Remote, out *cli.Printer, _ []string) error {
		if err := ask("Finalize the upgrade, and rule out a downgrade?"); err != nil {
			return err
		}
		resp, err := r.Operations.FinalizeUpgrade(ctx, &snowraftv1.FinalizeUpgradeRequest{Without: without})
		if err != nil {
			return err
		}
		if resp.GetFrom() == resp.GetTo() {
			return out.Answer(resp, cli.Line("nothing to finalize; commands in use: %d", resp.GetTo()))
		}
		return out.Answer(resp, cli.Line("finalized upgrade; commands in use: %d, before: %d", resp.GetTo(), resp.GetFrom()))
	})
}
