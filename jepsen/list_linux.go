package main

import (
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/jepsen/nemesis"
	"github.com/snowraft/snowraft/jepsen/workload"
)

func listCommand() *cobra.Command {
	return &cobra.Command{
		Use:       "list workloads|nemeses",
		Short:     "List the workloads of clients, or the faults",
		Example:   "  go run ./jepsen list nemeses",
		Args:      cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		ValidArgs: []string{"workloads", "nemeses"},
		RunE: func(cmd *cobra.Command, args []string) error {
			t := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			if args[0] == "workloads" {
				for _, w := range workload.All() {
					_, _ = fmt.Fprintf(t, "%s\t%s\n", w.Name, w.About)
				}
				return t.Flush()
			}
			for _, k := range nemesis.Kinds() {
				_, _ = fmt.Fprintf(t, "%s\t%s\t%s\n", k.Name, k.Family, k.About)
			}
			return t.Flush()
		},
	}
}
