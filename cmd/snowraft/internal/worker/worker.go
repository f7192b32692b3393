// Package worker has the commands of workers.
package worker

import (
	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
)

// New returns the command worker.
func New(a *cli.App) *cobra.Command {
	return cli.Group(&cobra.Command{
		Use:   "worker",
		Short: "Show who holds which worker",
		Long: `A worker is a number in the worker field of a layout. One holder at a time is
granted a window of time on it, within which it alone issues IDs.`,
		Example: `  snowraft worker list`,
	}, newList(a))
}
