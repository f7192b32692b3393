package main

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/jepsen/attacks"
)

// hostileCommand returns the command of the process that the nemesis "hostile" starts on a separate host.
func hostileCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "hostile",
		Short:  "Attack members until interrupted, and print counts of acts",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var s attacks.Siege
			if err := json.NewDecoder(cmd.InOrStdin()).Decode(&s); err != nil {
				return fmt.Errorf("parse siege from standard input: %w", err)
			}
			return json.NewEncoder(cmd.OutOrStdout()).Encode(s.Lay(cmd.Context()))
		},
	}
}
