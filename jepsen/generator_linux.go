package main

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/jepsen/workload"
)

// generatorCommand returns the command of the processes that the workload "embedded" starts.
func generatorCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "generator CONFIG",
		Short:  "Issue IDs from an embedded generator",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var g workload.Generator
			if err := json.Unmarshal([]byte(args[0]), &g); err != nil {
				return fmt.Errorf("parse generator configuration: %w", err)
			}
			return g.Run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
}
