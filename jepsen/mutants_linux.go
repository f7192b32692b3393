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

// mutantsFlags are the flags of a hunt.
type mutantsFlags struct {
	only   []string
	output string
	o      mutants.Options
	self   string
	built  map[string]bool // directories with programs
}

func mutantsCommand() *cobra.Command {
	var f mutantsFlags
	c := &cobra.Command{
		Use:   "mutants",
		Short: "Plant one bug after another, and see that each is caught",
		Long: `Plants one deliberate bug after another in the members and makes runs until a
checker sees that something is wrong. Runs without a bug, the
controls, must pass. Runs come one after the other, of about a minute each.

Exit codes: 0 all were caught and the controls passed, 1 otherwise, 3 no run could be made.`,
		Example: `  go run ./jepsen mutants
  go run ./jepsen mutants --only control,no-sync --rounds 3 --keep`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.hunt(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	c.Flags().StringSliceVar(&f.only, "only", nil, "plant these `BUGS` only: "+strings.Join(mutants.Names(), ", "))
	c.Flags().IntVar(&f.o.Rounds, "rounds", 10, "how many runs each bug gets")
	c.Flags().Uint64Var(&f.o.Seed, "seed", 1, "what chance begins with in the first run of each")
	c.Flags().StringVarP(&f.output, "output", "o", "text", "text or json")
	c.Flags().BoolVar(&f.o.Keep, "keep", false, "keep the runs that decided: those that caught a bug, and the last of those that did not")
	return c
}

func (f *mutantsFlags) hunt(ctx context.Context, out, progress io.Writer) (err error) {
	rows, err := mutants.Choose(f.only)
	if err != nil {
		return err
	}
	switch {
	case f.output != "text" && f.output != "json":
		return fmt.Errorf("output %q: choose text or json", f.output)
	case f.o.Rounds < 1:
		return fmt.Errorf("%d rounds: choose at least 1", f.o.Rounds)
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

// roundLimit is how much longer than its faults a round may take.
const roundLimit = 5 * time.Minute

// make makes a round's run, by this program in another process, which has a sandbox of its own.
func (f *mutantsFlags) make(ctx context.Context, r mutants.Round) error {
	plan, err := r.Row.Plan(r.Seed)
	if err != nil {
		return err
	}
	with := filepath.Join(programs(f.o.Dir), r.Row.Bug) // the programs with the bug, or without any
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
	// The kernel ends it when the thread that started it does, with all of this program.
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

// lastLine is the last line of what a program said, which tells why it ended.
func lastLine(said []byte) string {
	lines := strings.Split(strings.TrimSpace(string(said)), "\n")
	return lines[len(lines)-1]
}

// judgeQuietly judges a run without a report.
func judgeQuietly(dir string) ([]check.Verdict, error) {
	r, verdicts, err := check.Judge(dir)
	if err != nil {
		return nil, err
	}
	return verdicts, report.Write(io.Discard, r, verdicts)
}
