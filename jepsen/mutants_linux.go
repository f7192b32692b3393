package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/jepsen/check"
	"github.com/snowraft/snowraft/jepsen/mutants"
	"github.com/snowraft/snowraft/jepsen/report"
	"github.com/snowraft/snowraft/jepsen/run"
	"github.com/snowraft/snowraft/jepsen/schedule"
)

// mutantsFlags holds the flags of "jepsen mutants", and the state of its hunt.
type mutantsFlags struct {
	only   []string
	output string
	o      mutants.Options
	self   string
	built  map[string]bool // directories whose programs are built
}

func mutantsCommand() *cobra.Command {
	var f mutantsFlags
	c := &cobra.Command{
		Use:   "mutants",
		Short: "Plant one bug after another, and check that each is caught",
		Long: `Plant one deliberate bug after another in the members, and make runs until a checker catches
it. Runs without a bug, the controls, must pass. A run takes 30 to 70 s.

Exit codes: 0 all bugs were caught and the controls passed, 1 otherwise, 3 no run was possible.`,
		Example: `  go run ./jepsen mutants
  go run ./jepsen mutants --only control,no-sync --rounds 3 --keep`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.hunt(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	c.Flags().StringSliceVar(&f.only, "only", nil, "`BUGS` to plant (default all): "+strings.Join(mutants.Names(), ", "))
	c.Flags().IntVar(&f.o.Rounds, "rounds", 10, "maximum number of runs of each bug")
	c.Flags().Uint64Var(&f.o.Seed, "seed", 1, "random seed of the first run of each bug")
	c.Flags().StringVarP(&f.output, "output", "o", "text", "output format: text or json")
	c.Flags().BoolVar(&f.o.Keep, "keep", false,
		"keep the decisive runs: those that caught a bug, and the last run of each bug that was not caught")
	return c
}

func (f *mutantsFlags) hunt(ctx context.Context, out, progress io.Writer) (err error) {
	rows, err := mutants.Choose(f.only)
	if err != nil {
		return err
	}
	switch {
	case f.output != "text" && f.output != "json":
		return fmt.Errorf("--output %q: expected text or json", f.output)
	case f.o.Rounds < 1:
		return fmt.Errorf("--rounds %d: expected at least 1", f.o.Rounds)
	case os.Geteuid() != 0:
		return errNoRoot
	}
	if f.self, err = os.Executable(); err != nil {
		return err
	}
	if f.o.Dir, err = makeDirectory("", "mutants"); err != nil {
		return err
	}
	release, err := hold(f.o.Dir)
	if err != nil {
		return err
	}
	defer release()
	if !f.o.Keep {
		defer func() { err = errors.Join(err, os.RemoveAll(f.o.Dir)) }()
	}
	f.built = make(map[string]bool)
	f.o.Make, f.o.Judge, f.o.Progress = f.make, judgeQuietly, progress
	results, err := mutants.Hunt(ctx, f.o, rows)
	if err := errors.Join(err, f.print(out, results)); err != nil {
		return err
	}
	if !mutants.AllOK(results) {
		return exitStatus(exitFail)
	}
	return nil
}

func (f *mutantsFlags) print(out io.Writer, results []mutants.Result) error {
	if f.output == "text" {
		return mutants.Table(out, results)
	}
	enc := json.NewEncoder(out)
	enc.SetIndent("", "  ")
	return enc.Encode(results)
}

// roundLimit is the time that a round may take in addition to the duration of its faults.
const roundLimit = 5 * time.Minute

// make makes the run of a round in another process of this program, which starts its own sandbox.
func (f *mutantsFlags) make(ctx context.Context, r mutants.Round) error {
	plan, err := r.Row.Plan(r.Seed)
	if err != nil {
		return err
	}
	with := filepath.Join(programs(f.o.Dir), r.Row.Bug) // directory of the programs with this bug; a control has none
	if !f.built[with] {
		if err := run.Build(ctx, with, plan.Mutants...); err != nil {
			return err
		}
		f.built[with] = true
	}
	file := r.Dir + ".jsonl"
	if err := schedule.Write(file, plan); err != nil {
		return err
	}
	defer os.Remove(file) //nolint:errcheck // the run has a copy
	args := []string{"run", "--replay", file, "--out", r.Dir, "--" + programsFlag, with, "--" + unjudgedFlag}
	ctx, cancel := context.WithTimeout(ctx, r.Row.Duration+roundLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, f.self, args...)
	// The kernel kills the process when the thread that started it exits, and so when this program exits.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = time.Minute
	said, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %w: %s", mutants.ErrNoRun, err, lastLine(said))
	}
	return nil
}

// lastLine returns the last line of a program's output, which contains the reason of its exit.
func lastLine(said []byte) string {
	lines := strings.Split(strings.TrimSpace(string(said)), "\n")
	return lines[len(lines)-1]
}

// judgeQuietly judges a run and writes its reports, but prints nothing.
func judgeQuietly(dir string) ([]check.Verdict, error) {
	r, verdicts, err := check.Judge(dir)
	if err != nil {
		return nil, err
	}
	return verdicts, report.Write(io.Discard, r, verdicts)
}
