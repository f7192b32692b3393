package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/jepsen/nemesis"
	"github.com/snowraft/snowraft/jepsen/run"
	"github.com/snowraft/snowraft/jepsen/sandbox"
	"github.com/snowraft/snowraft/jepsen/schedule"
	"github.com/snowraft/snowraft/jepsen/workload"
)

// runFlags holds the flags of "jepsen run" and "jepsen schedule".
type runFlags struct {
	workloads, nemeses, out, replay string
	duration                        time.Duration
	seed                            uint64
	members                         int
	rate                            float64
	mutants                         []string
	maxWindow                       time.Duration
	secured, mixed                  bool
	shrinks                         bool
	tries                           int
	programs                        string // directory of built programs; empty builds them
	unjudged                        bool   // no verdict; "jepsen mutants" judges the run
}

func runCommand() *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:   "run",
		Short: "Run members under faults, and judge the run",
		Example: `  go run ./jepsen run --workload all --nemesis all --duration 10m --seed 1
  go run ./jepsen run --workload ids --nemesis kill,clock --duration 1m
  go run ./jepsen run --replay jepsen-runs/1/schedule.jsonl
  go run ./jepsen run --seed 7 --shrink
  go run ./jepsen run --duration 1m --tries 3`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			inside := sandbox.Inside()
			err := inSandbox(cmd.Context(), f.prepare, func(ctx context.Context) error { return f.run(ctx, cmd.OutOrStdout()) })
			for ; !inside && f.tries > 1 && errors.Is(err, exitStatus(exitInvalid)); f.tries-- {
				f.seed, f.out = f.seed+1, ""
				_, _ = fmt.Fprintln(cmd.OutOrStdout(), "the run shows nothing; next seed:", f.seed)
				err = inSandbox(cmd.Context(), f.prepare, nil)
			}
			if inside {
				return err
			}
			if f.shrinks && errors.Is(err, exitStatus(exitFail)) {
				if err := f.shrink(cmd.Context(), cmd.OutOrStdout()); err != nil {
					return err
				}
			}
			if f.programs == "" && f.out != "" {
				return errors.Join(err, os.RemoveAll(programs(f.out)))
			}
			return err
		},
	}
	f.planFlags(c)
	c.Flags().StringVar(&f.replay, "replay", "", "schedule `FILE` to replay, instead of a schedule from the seed")
	c.Flags().StringVar(&f.out, "out", "", "new `DIR` for the run (default: first free name of jepsen-runs/SEED, SEED.1, ...)")
	c.Flags().BoolVar(&f.shrinks, "shrink", false, "repeat a failed run with fewer and fewer faults, as long as it still fails")
	c.Flags().IntVar(&f.tries, "tries", 1, "most runs, each with the next seed, until one is not INVALID")
	c.Flags().StringVar(&f.programs, programsFlag, "",
		"`DIR` of the programs to test, snowraft and snowraft-next, with the --mutants planted (default: built from this source)")
	c.Flags().BoolVar(&f.unjudged, unjudgedFlag, false, "skip the verdict")
	c.Flags().Lookup(unjudgedFlag).Hidden = true
	for _, name := range planned {
		c.MarkFlagsMutuallyExclusive("replay", name)
	}
	c.MarkFlagsMutuallyExclusive("tries", "replay")
	c.MarkFlagsMutuallyExclusive("tries", "out")
	return c
}

// Flags that "jepsen mutants" and --shrink pass to the runs that they start.
const (
	programsFlag = "programs"
	unjudgedFlag = "unjudged"
)

// planned lists the flags whose values a schedule contains.
var planned = []string{"workload", "nemesis", "duration", "seed", "members", "rate", "max-window", "mutants", "secure", "mixed"}

// planFlags adds the flags of planned to c.
func (f *runFlags) planFlags(c *cobra.Command) {
	c.Flags().StringVar(&f.workloads, "workload", "all", "workloads of clients: "+workload.Names()+", or all")
	c.Flags().StringVar(&f.nemeses, "nemesis", "all", "faults: "+nemesis.Names()+"; a family; all or none")
	c.Flags().DurationVar(&f.duration, "duration", 10*time.Minute, "duration of the faults")
	c.Flags().Uint64Var(&f.seed, "seed", 1, "random seed; the same seed gives the same schedule")
	c.Flags().IntVar(&f.members, "members", 3, "number of members, 3 or 5; ring and bridge need 5")
	c.Flags().Float64Var(&f.rate, "rate", schedule.DefaultRate, "approximate requests per second of each workload")
	c.Flags().DurationVar(&f.maxWindow, "max-window", 0,
		"longest window that a leader grants, and so the wait of a restored cluster (default 20s)")
	c.Flags().BoolVar(&f.secured, "secure", false, "give members a secret, and all clients tokens")
	c.Flags().BoolVar(&f.mixed, "mixed", false,
		"upgrade members to the next version and back under all faults, then finalize the upgrade")
	c.Flags().StringSliceVar(&f.mutants, "mutants", nil, "`BUGS` to plant in the members")
}

// plan returns the plan to run: the one of --replay, or the one that the seed expands to.
func (f *runFlags) plan() (schedule.Plan, error) {
	if f.replay != "" {
		return schedule.Read(f.replay)
	}
	if f.members != 3 && f.members != 5 {
		return schedule.Plan{}, fmt.Errorf("--members %d: expected 3 or 5", f.members)
	}
	kinds, err := nemesis.Choose(f.nemeses)
	if err != nil {
		return schedule.Plan{}, err
	}
	loads, err := workload.Choose(f.workloads)
	if err != nil {
		return schedule.Plan{}, err
	}
	p := schedule.Plan{Header: schedule.Header{
		Seed: f.seed, Members: f.members, Duration: schedule.Duration(f.duration), Rate: f.rate, Mutants: f.mutants,
		Secured: f.secured, Mixed: f.mixed, MaxWindow: schedule.Duration(f.maxWindow),
	}}
	for _, w := range loads {
		p.Workloads = append(p.Workloads, w.Name)
	}
	p.Events = nemesis.Expand(f.seed, kinds, f.duration, f.members, p.Workloads)
	if err := f.drawn(p); err != nil || !f.mixed {
		return p, err
	}
	p.Events = nemesis.Mix(f.seed, p.Events, f.duration)
	return p, nil
}

// drawn returns an error if a fault that --nemesis names is not in the plan, or if the plan has no fault at all. Such
// a run would pass and show nothing.
func (f *runFlags) drawn(p schedule.Plan) error {
	for name := range strings.SplitSeq(f.nemeses, ",") {
		kind, err := nemesis.Named(name)
		if err != nil {
			continue // a family, all or none
		}
		if err := kind.Fits(f.members, p.Workloads); err != nil {
			return err
		}
		if !slices.ContainsFunc(p.Events, func(e schedule.Event) bool { return e.Fault == name }) {
			return fmt.Errorf("--nemesis %s: no such fault fits into %v; choose a longer --duration", name, f.duration)
		}
	}
	if len(p.Events) == 0 && f.nemeses != "none" {
		return fmt.Errorf("--nemesis %s: no such fault fits into %v; choose a longer --duration", f.nemeses, f.duration)
	}
	return nil
}

// directory is the environment variable that passes the run's directory to the process in the sandbox.
const directory = "SNOWRAFT_JEPSEN_DIR"

// prepare creates the run's directory, writes its schedule, builds the programs, and returns the path of the harness.
// It runs outside of the sandbox, where the network can provide modules.
func (f *runFlags) prepare(ctx context.Context) (string, error) {
	p, err := f.plan()
	if err != nil {
		return "", err
	}
	if f.out, err = makeDirectory(f.out, fmt.Sprint(p.Seed)); err != nil {
		return "", err
	}
	if err := os.Setenv(directory, f.out); err != nil {
		return "", err
	}
	if err := schedule.Write(scheduleFile(f.out), p); err != nil {
		return "", err
	}
	if f.programs != "" {
		return harness(p, f.programs)
	}
	build := run.Build
	if p.Mixed {
		build = run.BuildMixed
	}
	if err := build(ctx, programs(f.out), p.Mutants...); err != nil {
		return "", err
	}
	return harness(p, programs(f.out))
}

// run makes the run and judges it. It runs inside the sandbox.
func (f *runFlags) run(ctx context.Context, out io.Writer) error {
	dir := os.Getenv(directory)
	if err := checkMachine(ctx); err != nil {
		return err
	}
	release, err := hold(dir)
	if err != nil {
		return err
	}
	defer release()
	p, err := schedule.Read(scheduleFile(dir))
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	tested, err := filepath.Abs(cmp.Or(f.programs, programs(dir))) // members have a different working directory
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintln(out, "schedule:", scheduleFile(dir))
	err = run.Do(ctx, run.Options{
		Dir: dir, Programs: tested, Self: self, Plan: p, Progress: out,
	})
	if err != nil || f.unjudged {
		return err
	}
	return judge(dir, out)
}
