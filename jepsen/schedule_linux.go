package main

import (
	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/jepsen/schedule"
)

func scheduleCommand() *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:     "schedule FILE",
		Short:   "Write the schedule of a run to a file, without a run",
		Example: "  go run ./jepsen schedule --seed 7 --nemesis network /tmp/seven.jsonl",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			p, err := f.plan()
			if err != nil {
				return err
			}
			return schedule.Write(args[0], p)
		},
	}
	f.planFlags(c)
	return c
}
