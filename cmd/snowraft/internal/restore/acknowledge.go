package restore

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

func newAcknowledge(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "acknowledge",
		Short: "Allow sequences with new names after a restore",
		Long: `Allow sequences with new names after a restore. The old cluster may have created sequences
after the backup, which the new cluster does not know: a new sequence of the same name
would repeat their numbers. Before this command, stop applications that create sequences,
and run "snowraft config set --redis-create off". After it, create those sequences with
--start beyond their last number, and layouts that the backup lacks exactly as they were.`,
		Example: `  snowraft restore acknowledge`,
	}
	ask := a.Confirm(cmd)
	return a.Client(cmd, func(ctx context.Context, r *cli.Remote, out *cli.Printer, _ []string) error {
		if err := ask("Allow sequences with new names, for good?"); err != nil {
			return err
		}
		resp, err := r.Operations.AcknowledgeRestore(ctx, &snowraftv1.AcknowledgeRestoreRequest{})
		if err != nil {
			return err
		}
		a.WarnUnreached(resp.GetUnreachedMembers(), "until they learn of the change, they may refuse to create sequences")
		return out.Answer(resp, cli.Line("acknowledged restore; frozen sequences: %d", resp.GetRestoration().GetFrozenSequences()),
			cli.Line("Create each sequence that the backup lacks with --start beyond its last number."))
	})
}
