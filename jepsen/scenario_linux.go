package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/jepsen/check"
	"github.com/snowraft/snowraft/jepsen/run"
	"github.com/snowraft/snowraft/jepsen/sandbox"
	"github.com/snowraft/snowraft/jepsen/scenario"
)

// scenarioFlags holds the flags of "jepsen scenario".
type scenarioFlags struct {
	out     string
	mutants []string
	verbose bool
	lapse   time.Duration
}

func scenarioCommand() *cobra.Command {
	var f scenarioFlags
	c := &cobra.Command{
		Use:   "scenario NAME...|all",
		Short: "Reproduce known failures of other systems",
		Long: `Reproduce known failures of comparable systems against a cluster, and judge that they do no
harm. The output of each scenario is the verdict, the failure of the other system, and the
observations. "jepsen scenario list" lists the scenarios.`,
		Example: `  go run ./jepsen scenario all
  go run ./jepsen scenario vitess-3116 --mutants no-confirm`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			chosen, err := scenario.Choose(args...)
			if err != nil {
				return err
			}
			inside := sandbox.Inside()
			err = inSandbox(cmd.Context(), f.prepare, func(ctx context.Context) error { return f.play(ctx, chosen, cmd.OutOrStdout()) })
			if !inside && f.out != "" {
				err = errors.Join(err, os.RemoveAll(programs(f.out)))
			}
			return err
		},
	}
	c.Flags().StringVar(&f.out,
		"out", "", "new `DIR` for the runs (default: first free name of jepsen-runs/scenarios, scenarios.1, ...)")
	c.Flags().StringSliceVar(&f.mutants, "mutants", nil, "`BUGS` to plant in the members")
	c.Flags().DurationVar(&f.lapse, "lapse", time.Minute, "time from the backup to the end of its cluster, for restored-cluster")
	c.Flags().BoolVarP(&f.verbose, "verbose", "v", false, "print the progress of each run")
	c.AddCommand(&cobra.Command{
		Use:   "list",
		Short: "List the scenarios, and the bugs that make each one fail",
		Args:  cobra.NoArgs,
		Run: func(cmd *cobra.Command, _ []string) {
			for _, s := range scenario.All() {
				_, _ = fmt.Fprintf(cmd.OutOrStdout(), "%-20s %s\n%21s(%s; fails with --mutants %s)\n", s.Name, s.Other, "", s.Source, strings.Join(s.Bugs, ", or "))
			}
		},
	})
	return c
}

// prepare creates the directory, builds the members' programs in it, and returns the path of this program.
// It runs outside of the sandbox.
func (f *scenarioFlags) prepare(ctx context.Context) (_ string, err error) {
	if f.out, err = makeDirectory(f.out, "scenarios"); err != nil {
		return "", err
	}
	if err := os.Setenv(directory, f.out); err != nil {
		return "", err
	}
	if err := run.Build(ctx, programs(f.out), f.mutants...); err != nil {
		return "", err
	}
	return os.Executable()
}

// play plays the scenarios one after the other. It runs inside the sandbox.
func (f *scenarioFlags) play(ctx context.Context, chosen []scenario.Scenario, out io.Writer) error {
	dir := os.Getenv(directory)
	if err := checkMachine(ctx); err != nil {
		return err
	}
	release, err := hold(dir)
	if err != nil {
		return err
	}
	defer release()
	self, err := os.Executable()
	if err != nil {
		return err
	}
	progress := io.Discard
	if f.verbose {
		progress = out
	}
	var results []scenario.Result
	var errs []error
	for _, s := range chosen {
		result, err := scenario.Do(ctx, s, scenario.Options{
			Dir: filepath.Join(dir, s.Name), Programs: programs(dir), Self: self, Mutants: f.mutants, Progress: progress, Lapse: f.lapse,
		})
		if err != nil {
			_, _ = fmt.Fprintf(out, "%-20s none     %v\n", s.Name, err)
			errs = append(errs, err)
			if ctx.Err() != nil {
				break
			}
			continue
		}
		printResult(out, result)
		results = append(results, result)
	}
	_, _ = fmt.Fprintln(out, "reports:", filepath.Join(dir, "*", "report.html"))
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	if code := scenarioExit(results); code != exitPass {
		return exitStatus(code)
	}
	return nil
}

// printResult prints the result of a scenario, then one failure per line.
func printResult(out io.Writer, r scenario.Result) {
	_, _ = fmt.Fprintf(out, "%-20s %-8s %s. Here: %s (%v)\n", r.Scenario.Name, strings.ToUpper(string(r.Outcome)), r.Scenario.Other, r.Seen, r.Took.Round(time.Second))
	for _, failure := range r.Failures {
		_, _ = fmt.Fprintf(out, "    %s\n", failure)
	}
}

// scenarioExit returns the exit code of all results together. A failure takes precedence over an invalid scenario.
func scenarioExit(results []scenario.Result) int {
	code := exitPass
	for _, r := range results {
		switch r.Outcome {
		case check.Pass:
		case check.Fail:
			return exitFail
		default:
			code = exitInvalid
		}
	}
	return code
}
