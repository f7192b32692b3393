package member

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// NewLeave returns the command leave.
func NewLeave(a *cli.App) *cobra.Command {
	return a.Client(&cobra.Command{
		Use:   "leave",
		Short: "Make a member leave the cluster and end",
		Long: `Makes the member at --addr leave the cluster for good and end. It takes exactly
one address, as it concerns that member alone.

To stop a member for a while, end its process with SIGTERM instead: that is not
a leave.`,
		Example: `  snowraft leave --addr 10.0.0.3:7700`,
		Args:    cli.Args(),
	}, func(ctx context.Context, r *cli.Remote, out *cli.Printer, _ []string) error {
		if len(r.Addresses) != 1 {
			return cli.Usagef("--addr: expected exactly one address, that of the member that shall leave")
		}
		if _, err := r.Cluster.Leave(ctx, &snowraftv1.LeaveRequest{}); err != nil {
			return err
		}
		doc := struct {
			Address string `json:"address"`
		}{r.Addresses[0]}
		return out.Answer(doc, cli.Line("the member at %s leaves the cluster", doc.Address))
	})
}
