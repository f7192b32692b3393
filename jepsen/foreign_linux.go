package main

import (
	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/jepsen/workload"
)

// foreignCommand returns the command that the workload "wrapped" runs under "snowraft worker run".
func foreignCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "foreign",
		Short:  "Print IDs of the worker in " + workload.ForeignWorker,
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE:   func(cmd *cobra.Command, _ []string) error { return workload.PrintForeign(cmd.OutOrStdout()) },
	}
}
