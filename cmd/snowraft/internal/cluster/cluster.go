package cluster

import (
	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
)

// New returns the command cluster.
func New(a *cli.App) *cobra.Command {
	return cli.Group(&cobra.Command{
		Use:   "cluster",
		Short: "End a cluster that must not issue any longer",
		Long: `End a cluster that must not issue any longer: one whose members were set back to an
earlier state, or one of several clusters that were restored from the same backup.`,
		Example: `  snowraft cluster seal
  snowraft cluster supersede 0c66af2f-ae7e-4522-b252-9891327eb656`,
	}, newSeal(a), newSupersede(a))
}
