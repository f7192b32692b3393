package cluster

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

func newSupersede(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "supersede ID",
		Short: "End the old cluster, or another restored one, for good",
		Long: `End the old cluster that this one was restored from, or another cluster that was restored
from the same backup. Each member of that cluster halts for good as soon as it hears this
cluster: it does not start again with its data directory. This cluster issues nothing
until 30 s after it heard the last one.

The members must have a cluster secret in common. Members of an earlier version do not
halt: stop them yourself. Their applications must use this cluster from then on.`,
		Example:           `  snowraft cluster supersede 0c66af2f-ae7e-4522-b252-9891327eb656`,
		ValidArgsFunction: a.CompleteFirst(lives),
	}
	ask := a.Confirm(cmd)
	return a.Client(cmd, func(ctx context.Context, r *cli.Remote, out *cli.Printer, args []string) error {
		if err := ask("End cluster %s for good?", args[0]); err != nil {
			return err
		}
		resp, err := r.Operations.Supersede(ctx, &snowraftv1.SupersedeRequest{ClusterId: args[0]})
		if err != nil {
			return err
		}
		a.WarnUnreached(resp.GetUnreachedMembers(), "the other cluster does not learn it from them until then")
		still := "its members are not heard now, and halt once they are"
		if resp.GetRestoration().GetOldClusterId() == args[0] {
			still = "heard now: " + resp.GetRestoration().GetOldClusterAlive()
		}
		return out.Answer(resp, cli.Line("superseded cluster %s; %s", args[0], still))
	})
}

// lives offers the IDs of the clusters that the command can end: the one that is heard, and the earlier ones.
func lives(ctx context.Context, r *cli.Remote, _ string) ([]cobra.Completion, error) {
	resp, err := r.Cluster.GetStatus(ctx, &snowraftv1.GetStatusRequest{})
	if err != nil {
		return nil, err
	}
	restored := resp.GetRestoration()
	offered := slices.Clone(restored.GetAncestors())
	if id := restored.GetOldClusterId(); id != "" && !slices.Contains(offered, id) {
		offered = append(offered, id)
	}
	return slices.DeleteFunc(offered, func(id string) bool { return slices.Contains(restored.GetSuperseded(), id) }), nil
}
