package main

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/jepsen/attacks"
)

// hostileCommand is what the nemesis "hostile" starts on a host of its own.
func hostileCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "hostile",
		Short:  "Attack members until it is killed, as standard input says",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var s attacks.Siege
			if err := json.NewDecoder(cmd.InOrStdin()).Decode(&s); err != nil {
				return fmt.Errorf("the siege: %w", err)
			}
			_, err := fmt.Fprintln(cmd.OutOrStdout(), s.Lay(cmd.Context()))
			return err
		},
	}
}
