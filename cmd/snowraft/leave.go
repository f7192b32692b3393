package main

import (
	"context"

	"github.com/spf13/cobra"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

func (a *app) leaveCommand() *cobra.Command {
	return a.client(&cobra.Command{
		Use:   "leave",
		Short: "Make a member leave the cluster and end",
		Long: `Makes the member at --addr leave the cluster for good and end. It takes exactly
one address, as it concerns that member alone.

To stop a member for a while, end its process with SIGTERM instead: that is not
a leave.`,
		Example: `  snowraft leave --addr 10.0.0.3:7700`,
		Args:    arguments(),
	}, func(ctx context.Context, r *remote, _ []string) error {
		if len(r.members) != 1 {
			return usagef("--addr: expected exactly one address, that of the member that shall leave")
		}
		if _, err := r.cluster().Leave(ctx, &snowraftv1.LeaveRequest{}); err != nil {
			return err
		}
		doc := struct {
			Address string `json:"address"`
		}{r.members[0].address}
		return r.out.answer(doc, line("the member at %s leaves the cluster", doc.Address))
	})
}
