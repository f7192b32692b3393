package cluster

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

func newSeal(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "seal",
		Short: "Stop all IDs and numbers for good",
		Long: `Stop all IDs and numbers of the cluster for good, because members were set back to an
earlier state: the cluster may grant the same twice. A secured cluster seals itself when
it notices that. An open cluster does not, because a stranger could make it do so.

Only a restore continues a sealed cluster: back up the data directory of every member
with "snowraft backup FILE --data-dir DIR", and give all backups to "snowraft restore".`,
		Example: `  snowraft cluster seal`,
	}
	ask := a.Confirm(cmd)
	return a.Client(cmd, func(ctx context.Context, r *cli.Remote, out *cli.Printer, _ []string) error {
		if err := ask("Seal the cluster, so that it never issues anything again?"); err != nil {
			return err
		}
		resp, err := r.Operations.SealCluster(ctx, &snowraftv1.SealClusterRequest{})
		if err != nil {
			return err
		}
		a.WarnUnreached(resp.GetUnreachedMembers(), "until they learn of the seal, they may issue IDs and numbers")
		return out.Answer(resp, cli.Line("sealed the cluster at %s", cli.Stamp(resp.GetSealed().GetSealedAtMs())),
			cli.Line("Back up the data directories of all members, and restore them together."))
	})
}

// sealed returns when and why the cluster was sealed, and the way on; empty if it was not.
func sealed(s *snowraftv1.Sealed) string {
	if s == nil {
		return ""
	}
	by := ""
	if s.GetWitness() != "" {
		by = ", known from " + s.GetWitness()
	}
	return fmt.Sprintf(`%s: %s%s; see "snowraft restore --help"`, cli.Stamp(s.GetSealedAtMs()), s.GetReason(), by)
}
