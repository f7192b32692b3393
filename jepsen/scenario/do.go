//go:build linux

package scenario

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/snowraft/snowraft/jepsen/check"
	"github.com/snowraft/snowraft/jepsen/history"
	"github.com/snowraft/snowraft/jepsen/report"
	"github.com/snowraft/snowraft/jepsen/run"
	"github.com/snowraft/snowraft/jepsen/schedule"
	"github.com/snowraft/snowraft/jepsen/workload"
)

// rate is the approximate number of requests per second of each workload.
const rate = 60

// Options configures Do.
type Options struct {
	// Dir is the directory of the run; it must not exist.
	Dir string
	// Programs is the directory that run.Build filled; Self is the path of this harness.
	Programs, Self string
	Mutants        []string // bugs planted in the programs
	// Lapse is the time from a backup to the end of its cluster.
	Lapse time.Duration
	// Progress receives the progress of the run; may be io.Discard.
	Progress io.Writer
}

// Result is the result of a scenario.
type Result struct {
	Scenario Scenario
	Outcome  check.Outcome
	// Seen contains all observations of the script.
	Seen string
	// Failures are the failures of all checkers: violations, or the missing evidence of an invalid scenario.
	Failures []string
	// Took is the time from the first process to the verdict.
	Took time.Duration
}

// Do plays a scenario and judges it. An error means that the result cannot be judged. The tested program never causes an
// error.
func Do(ctx context.Context, sc Scenario, o Options) (Result, error) {
	result := Result{Scenario: sc}
	if err := os.Mkdir(o.Dir, 0o755); err != nil {
		return result, err
	}
	plan := schedule.Plan{Header: schedule.Header{Members: 3, Workloads: sc.Loads, Rate: rate, Mutants: o.Mutants, Secured: sc.Secured}}
	if err := schedule.Write(filepath.Join(o.Dir, "schedule.jsonl"), plan); err != nil {
		return result, err
	}
	s, begun := &stage{lapse: o.Lapse}, history.Now()
	err := run.Do(ctx, run.Options{
		Dir: o.Dir, Programs: o.Programs, Self: o.Self, Plan: plan, Progress: o.Progress,
		Script: &run.Script{
			WaitThreshold: sc.WaitThreshold, MaxWindow: sc.MaxWindow, Strays: sc.Strays, Twins: sc.Twins,
			Play: func(ctx context.Context, w *workload.World) error { return s.play(ctx, w, sc.script) },
		},
	})
	if err != nil {
		return result, fmt.Errorf("%s: %w", sc.Name, err)
	}
	err = result.judge(o.Dir, &s.finding)
	result.Took = time.Duration(history.Now() - begun)
	return result, err
}

// judge applies all checkers to a run, and writes the reports.
func (r *Result) judge(dir string, f *finding) error {
	judge := check.Judge
	if r.Scenario.judge != nil {
		judge = r.Scenario.judge
	}
	judged, verdicts, err := judge(dir)
	if err != nil {
		return err
	}
	verdicts = append([]check.Verdict{f.verdict()}, verdicts...)
	if err := report.Write(io.Discard, judged, verdicts); err != nil {
		return err
	}
	r.conclude(f.summary(), verdicts)
	return nil
}

// conclude sets the outcome and the failures from all verdicts.
func (r *Result) conclude(seen string, verdicts []check.Verdict) {
	r.Outcome, r.Seen = check.Overall(verdicts), seen
	for _, v := range verdicts {
		if v.Outcome == check.Pass || r.Outcome == check.Fail && v.Outcome != check.Fail {
			continue
		}
		for _, failure := range v.Failures {
			r.Failures = append(r.Failures, v.Checker+": "+failure)
		}
	}
}
