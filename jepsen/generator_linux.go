package main

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/jepsen/workload"
)

// generatorCommand is what the workload "embedded" starts: a process that embeds a generator.
func generatorCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "generator CONFIG",
		Short:  "Issue IDs as a program that embeds a generator does",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var g workload.Generator
			if err := json.Unmarshal([]byte(args[0]), &g); err != nil {
				return fmt.Errorf("the generator's configuration: %w", err)
			}
			return g.Run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
}
