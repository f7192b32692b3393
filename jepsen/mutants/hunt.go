//go:build linux

package mutants

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/snowraft/snowraft/jepsen/check"
	"github.com/snowraft/snowraft/jepsen/history"
)

// ErrNoRun is the error of a round that could not be completed, for example because the cluster did not start after a
// fault. A planted bug may be the reason, but the round proves nothing.
var ErrNoRun = errors.New("run not completed")

// Round is one run of a row.
type Round struct {
	Row  *Row
	Seed uint64
	Dir  string // directory of the run; must not exist yet
}

// Options configure a hunt.
type Options struct {
	// Dir is an existing directory for the runs.
	Dir string
	// Seed is the seed of the first round of each row. Each further round adds 1.
	Seed uint64
	// Rounds is the greatest number of rounds of a row.
	Rounds int
	// Keep keeps the directories of the rounds that decide the result of a row. All others are removed after they are
	// judged.
	Keep bool
	// Make makes a run. After an [ErrNoRun] there is no run to judge; any other error ends the hunt.
	Make func(ctx context.Context, r Round) error
	// Judge returns the verdicts of the checkers on a run.
	Judge func(dir string) ([]check.Verdict, error)
	// Progress receives one line about each round.
	Progress io.Writer
}

// Result is the outcome of a row.
type Result struct {
	Mutant string `json:"mutant"` // name of the row
	// Control reports whether the row is a control.
	Control bool `json:"control,omitempty"`
	// OK reports whether the bug was caught, or the control passed.
	OK bool `json:"ok"`
	// By lists the checkers that failed in the deciding round, and Expected those that should catch the bug.
	By       []string `json:"by,omitempty"`
	Expected []string `json:"expected,omitempty"`
	// Why is the first failure, or the reason for which the round proved nothing.
	Why string `json:"why,omitempty"`
	// Rounds, Operations of clients and Seconds are totals of all rounds of the row. Seconds includes starting members and
	// judging. Invalid counts the rounds that proved nothing.
	Rounds     int     `json:"rounds"`
	Invalid    int     `json:"invalid,omitempty"`
	Operations int64   `json:"operations"`
	Seconds    float64 `json:"seconds"`
	Dir        string  `json:"dir,omitempty"` // directory of the deciding round, if kept
}

// Hunt makes rounds of each row, one after another, until the row's bug is caught or o.Rounds were made, and at most 3
// rounds of a control until it passes. With an error it returns the results so far. A row of which no round could be
// completed is an error.
func Hunt(ctx context.Context, o Options, rows []Row) ([]Result, error) {
	results := []Result{}
	for i := range rows {
		result, err := o.hunt(ctx, &rows[i])
		if err != nil {
			return results, fmt.Errorf("%s: %w", rows[i].Name(), err)
		}
		results = append(results, result)
	}
	return results, nil
}

func (o *Options) hunt(ctx context.Context, row *Row) (Result, error) {
	result := Result{Mutant: row.Name(), Control: row.control(), Expected: row.Expected}
	begun, made, limit := history.Now(), false, o.Rounds
	if row.control() {
		limit = min(limit, controlRounds)
	}
	for !result.OK && result.Rounds < limit && !result.hopeless() {
		round := Round{Row: row, Seed: o.Seed + uint64(result.Rounds), Dir: filepath.Join(o.Dir, fmt.Sprintf("%s.%d", row.Name(), result.Rounds+1))}
		result.Rounds++
		err := o.Make(ctx, round)
		if errors.Is(err, ErrNoRun) && ctx.Err() == nil && (made || result.Rounds < limit) {
			result.By, result.Why = nil, err.Error()
			result.Invalid++
		} else if err != nil {
			return result, err
		} else {
			made = true
			verdicts, err := o.Judge(round.Dir)
			if err != nil {
				return result, err
			}
			result.take(row, verdicts)
		}
		result.Seconds = time.Duration(history.Now() - begun).Seconds()
		o.say("%-22s round %d: %s", row.Name(), result.Rounds, result.cause())
		if o.Keep && (result.OK || result.Rounds == limit || result.hopeless()) {
			result.Dir = round.Dir
			o.say("  kept in %s", round.Dir)
		} else if err := os.RemoveAll(round.Dir); err != nil {
			return result, err
		}
	}
	return result, nil
}

// take adds the verdicts of a round to the result.
func (r *Result) take(row *Row, verdicts []check.Verdict) {
	r.By, r.Why = nil, ""
	for _, v := range verdicts {
		if v.Checker == "vacuity" {
			r.Operations += v.Facts["ops"]
		}
		if v.Outcome != check.Pass && r.Why == "" && len(v.Failures) > 0 {
			r.Why = v.Checker + ": " + v.Failures[0]
		}
		if v.Outcome == check.Fail && (row.control() || !slices.Contains(countless, v.Checker)) {
			if len(r.By) == 0 {
				r.Why = v.Checker + ": " + v.Failures[0]
			}
			r.By = append(r.By, v.Checker)
		}
	}
	overall := check.Overall(verdicts)
	if overall == check.Invalid {
		r.Invalid++
	}
	if row.control() {
		r.OK = overall == check.Pass
		return
	}
	r.OK = slices.ContainsFunc(r.By, func(name string) bool {
		expected := slices.Contains(row.Expected, name)
		return expected || name != liveness && !row.OnlyExpected
	})
}

// countless lists the checkers whose failures do not catch a bug. A process that panics returns no wrong answer, and a run
// without activity has no answers. Liveness does not count either unless it is expected, because a busy machine is slow
// without a bug.
var countless = []string{"exits", "vacuity"}

// controlRounds is the greatest number of rounds of a control, which may be slow or prove nothing on a busy machine.
const controlRounds = 3

// hopeless reports whether a control has failed by more than slowness. Such a control gets no further round.
func (r *Result) hopeless() bool {
	return r.Control && slices.ContainsFunc(r.By, func(name string) bool { return name != liveness })
}

// asExpected reports whether an expected checker caught the bug.
func (r *Result) asExpected() bool {
	return slices.ContainsFunc(r.By, func(name string) bool { return slices.Contains(r.Expected, name) })
}

func (o *Options) say(format string, args ...any) {
	_, _ = fmt.Fprintf(o.Progress, format+"\n", args...) // nothing depends on the progress
}
