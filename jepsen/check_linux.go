package main

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/jepsen/check"
	"github.com/snowraft/snowraft/jepsen/report"
	"github.com/snowraft/snowraft/jepsen/schedule"
)

func checkCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "check DIR",
		Short:   "Judge a run again",
		Long:    "Judge an earlier run again, and rewrite its reports. This command does not need root.",
		Example: "  go run ./jepsen check jepsen-runs/1",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if p, err := schedule.Read(scheduleFile(args[0])); err == nil && p.Mixed && nextVersion == "" {
				return checkMixed(cmd.Context(), args[0])
			}
			return judge(args[0], cmd.OutOrStdout())
		},
	}
}

// judge applies all checkers to a run, and writes the reports. The error is the exit status of a run that did not pass.
func judge(dir string, out io.Writer) error {
	r, verdicts, err := check.Judge(dir)
	if err != nil {
		return err
	}
	if err := report.Write(out, r, verdicts); err != nil {
		return err
	}
	switch check.Overall(verdicts) {
	case check.Pass:
		return nil
	case check.Invalid:
		return exitStatus(exitInvalid)
	default:
		return exitStatus(exitFail)
	}
}
