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

// runFlags are the flags of a run.
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
	programs                        string // where they are built already
	unjudged                        bool   // for "jepsen mutants", which judges
}

func runCommand() *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:   "run",
		Short: "Make a run, and judge it",
		Example: `  go run ./jepsen run --workload all --nemesis all --duration 10m --seed 1
  go run ./jepsen run --workload ids --nemesis kill,clock --duration 1m
  go run ./jepsen run --replay jepsen-runs/1/schedule.jsonl
  go run ./jepsen run --seed 7 --shrink`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			inside := sandbox.Inside()
			err := inSandbox(cmd.Context(), f.prepare, func(ctx context.Context) error { return f.run(ctx, cmd.OutOrStdout()) })
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
	c.Flags().StringVar(&f.replay, "replay", "", "a schedule `FILE` to play, instead of drawing one from the seed")
	c.Flags().StringVar(&f.out, "out", "", "the `DIR` that the run goes to, which must not exist (default the first free one of jepsen-runs/SEED, SEED.1, ...)")
	c.Flags().BoolVar(&f.shrinks, "shrink", false, "if the run fails, repeat it with fewer and fewer faults, for as long as it still fails")
	c.Flags().StringVar(&f.programs, programsFlag, "", "the `DIR` with the programs to test, snowraft and snowraft-next, with the --mutants planted in them (default: built from this source)")
	c.Flags().BoolVar(&f.unjudged, unjudgedFlag, false, "leave it to the caller to judge the run")
	c.Flags().Lookup(unjudgedFlag).Hidden = true
	for _, name := range planned {
		c.MarkFlagsMutuallyExclusive("replay", name)
	}
	return c
}

// Flags that "jepsen mutants" and shrinking use as well.
const (
	programsFlag = "programs"
	unjudgedFlag = "unjudged"
)

// planned are the flags that stand in a schedule.
var planned = []string{"workload", "nemesis", "duration", "seed", "members", "rate", "max-window", "mutants", "secure", "mixed"}

// planFlags adds them.
func (f *runFlags) planFlags(c *cobra.Command) {
	c.Flags().StringVar(&f.workloads, "workload", "all", "what clients do: "+workload.Names()+", or all")
	c.Flags().StringVar(&f.nemeses, "nemesis", "all", "which faults: "+nemesis.Names()+"; a family; all or none")
	c.Flags().DurationVar(&f.duration, "duration", 10*time.Minute, "how long there are faults")
	c.Flags().Uint64Var(&f.seed, "seed", 1, "what chance begins with: the same seed gives the same schedule")
	c.Flags().IntVar(&f.members, "members", 3, "how many members: 3 or 5; rings and bridges need 5")
	c.Flags().Float64Var(&f.rate, "rate", schedule.DefaultRate, "requests a second of each workload, roughly")
	c.Flags().DurationVar(&f.maxWindow, "max-window", 0, "the longest window that is granted, and so what a restored cluster waits for (default 20s)")
	c.Flags().BoolVar(&f.secured, "secure", false, "give members a secret, and all clients tokens")
	c.Flags().BoolVar(&f.mixed, "mixed", false, "upgrade members to a next version and back under all faults, and finalize the upgrade")
	c.Flags().StringSliceVar(&f.mutants, "mutants", nil, "deliberate `BUGS` to plant in the members")
}

// plan is what is to be played.
func (f *runFlags) plan() (schedule.Plan, error) {
	if f.replay != "" {
		return schedule.Read(f.replay)
	}
	if f.members != 3 && f.members != 5 {
		return schedule.Plan{}, fmt.Errorf("%d members: choose 3 or 5", f.members)
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
		Seed: f.seed, Members: f.members, Duration: schedule.Duration(f.duration), Rate: f.rate, Mutants: f.mutants, Secured: f.secured, Mixed: f.mixed, MaxWindow: schedule.Duration(f.maxWindow),
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

// drawn says which kind of fault was requested by its name and is not in the plan, or that there is none
// at all: that run would pass and show nothing.
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
			return fmt.Errorf("no %s fits into %v: choose a longer --duration", name, f.duration)
		}
	}
	if len(p.Events) == 0 && f.nemeses != "none" {
		return fmt.Errorf("no fault of %s fits into %v: choose a longer --duration", f.nemeses, f.duration)
	}
	return nil
}

// directory hands the run's directory down to the process in the sandbox.
const directory = "SNOWRAFT_JEPSEN_DIR"

// prepare makes the run's directory, its schedule and the programs. It is outside of the
// sandbox, where there is a network to fetch modules from.
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

// run makes the run and judges it, in the sandbox.
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
	tested, err := filepath.Abs(cmp.Or(f.programs, programs(dir))) // members have another working directory
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
