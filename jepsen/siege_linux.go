package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/jepsen/run"
	"github.com/snowraft/snowraft/jepsen/sandbox"
	"github.com/snowraft/snowraft/jepsen/schedule"
	"github.com/snowraft/snowraft/jepsen/siege"
)

// siegeFlags holds the flags of "jepsen siege".
type siegeFlags struct {
	duration        time.Duration
	secured, shared bool
	least           float64
	only            []string
	out             string
}

func siegeCommand() *cobra.Command {
	var f siegeFlags
	c := &cobra.Command{
		Use:   "siege",
		Short: "Measure the cost of hostile traffic for clients",
		Long: fmt.Sprintf(`Measure the rates of clients of all protocols that call a cluster of three members at full
rate, with and without hostile traffic in turns of %v. The siege fails if a call fails, or if
a protocol keeps less than --least percent of its rate.`, siege.Phase),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			inside := sandbox.Inside()
			err := inSandbox(cmd.Context(), f.prepare, func(ctx context.Context) error { return f.measure(ctx, cmd.OutOrStdout()) })
			if !inside && f.out != "" {
				err = errors.Join(err, os.RemoveAll(programs(f.out)))
			}
			return err
		},
	}
	c.Flags().DurationVar(&f.duration, "duration", 10*time.Minute, "duration of the measurement")
	c.Flags().BoolVar(&f.secured, "secure", false, "give members a secret, and clients a token")
	c.Flags().Float64Var(&f.least, "least", siege.LeastShare,
		"`PERCENT` of its rate that each protocol must keep; short measurements are less precise")
	c.Flags().StringSliceVar(&f.only, "only", nil, "`ACTS` that strangers make, to measure the cost of each (default all)")
	c.Flags().BoolVar(&f.shared, "shared-address", false, "give strangers the address of the clients")
	c.Flags().StringVar(&f.out, "out", "", "new `DIR` for the run (default: first free name of jepsen-runs/siege, siege.1, ...)")
	return c
}

func (f *siegeFlags) prepare(ctx context.Context) (_ string, err error) {
	if f.out, err = makeDirectory(f.out, "siege"); err != nil {
		return "", err
	}
	if err := os.Setenv(directory, f.out); err != nil {
		return "", err
	}
	if err := run.Build(ctx, programs(f.out)); err != nil {
		return "", err
	}
	return os.Executable()
}

// measure makes the run and prints its report. It runs inside the sandbox.
func (f *siegeFlags) measure(ctx context.Context, out io.Writer) error {
	dir := os.Getenv(directory)
	if err := checkMachine(ctx); err != nil {
		return err
	}
	release, err := hold(dir)
	if err != nil {
		return err
	}
	defer release()
	s := siege.Siege{Rounds: max(1, int(f.duration/(2*siege.Phase))), Shared: f.shared, Only: f.only}
	err = run.Do(ctx, run.Options{
		Dir: dir, Programs: programs(dir),
		Plan:   schedule.Plan{Header: schedule.Header{Members: 3, Secured: f.secured, Duration: schedule.Duration(f.duration)}},
		Script: &run.Script{Play: s.Play}, Progress: io.Discard,
	})
	if err != nil {
		return err
	}
	report := s.Report()
	report.Least = f.least
	return verdict(out, report)
}

// verdict prints a report and PASS, FAIL or INVALID. The error is the exit status of a siege that did not pass.
func verdict(out io.Writer, r siege.Report) error {
	if err := r.Print(out); err != nil {
		return err
	}
	switch missing := r.Missing(); {
	case len(r.Broken()) > 0:
		_, _ = fmt.Fprintln(out, "FAIL")
		return exitStatus(exitFail)
	case len(missing) > 0:
		_, _ = fmt.Fprintln(out, "INVALID: missing acts or calls:", strings.Join(missing, ", "))
		return exitStatus(exitInvalid)
	}
	_, _ = fmt.Fprintln(out, "PASS")
	return nil
}
