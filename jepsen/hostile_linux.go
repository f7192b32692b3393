package main

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/jepsen/attacks"
)

// hostileCommand is the process that the nemesis "hostile" starts on a host of its own.
func hostileCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "hostile",
		Short:  "Attack members until it is killed, as standard input says, and print how often there was each act",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var s attacks.Siege
			if err := json.NewDecoder(cmd.InOrStdin()).Decode(&s); err != nil {
				return fmt.Errorf("the siege: %w", err)
			}
			return json.NewEncoder(cmd.OutOrStdout()).Encode(s.Lay(cmd.Context()))
		},
	}
}
