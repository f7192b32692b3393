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

// ErrNoRun is the error of a round that came to no end: a bug may be in its way as well, such
// as when a cluster does not come up after a fault. It shows nothing.
var ErrNoRun = errors.New("no run")

// Round is one run of a row.
type Round struct {
	Row  *Row
	Seed uint64
	Dir  string // where it goes, which does not exist yet
}

// Options are how bugs are hunted.
type Options struct {
	// Dir is an existing directory for the runs.
	Dir string
	// Seed is the first round's, which the others count up.
	Seed uint64
	// Rounds is the number of runs a row gets.
	Rounds int
	// Keep keeps the directories of the rounds that decide. The others are removed when they
	// were judged.
	Keep bool
	// Make makes a run. An [ErrNoRun] means that there is none to judge; another error ends all.
	Make func(ctx context.Context, r Round) error
	// Judge judges one.
	Judge func(dir string) ([]check.Verdict, error)
	// Progress is told how it gets on.
	Progress io.Writer
}

// Result is what became of a row.
type Result struct {
	Mutant string `json:"mutant"` // or a control's name
	// Control reports whether there was no bug.
	Control bool `json:"control,omitempty"`
	// OK reports whether the bug was caught, or the control passed.
	OK bool `json:"ok"`
	// By are the checkers that failed in the round that decided, Expected those that should.
	By       []string `json:"by,omitempty"`
	Expected []string `json:"expected,omitempty"`
	// Why is the first failure, or why a run showed nothing.
	Why string `json:"why,omitempty"`
	// Rounds, Operations of clients and Seconds were needed, the time for starting members and
	// judging with it. Invalid of the rounds showed nothing.
	Rounds     int     `json:"rounds"`
	Invalid    int     `json:"invalid,omitempty"`
	Operations int64   `json:"operations"`
	Seconds    float64 `json:"seconds"`
	Dir        string  `json:"dir,omitempty"` // of the round that decided, if it was kept
}

// Hunt makes rounds of each row until its bug is caught, one after another. After an error
// there are the results so far. It is one if no round of a row could be made.
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
		o.say("%-22s round %d: %s", row.Name(), result.Rounds, result.told())
		if o.Keep && (result.OK || result.Rounds == limit || result.hopeless()) {
			result.Dir = round.Dir
			o.say("  kept in %s", round.Dir)
		} else if err := os.RemoveAll(round.Dir); err != nil {
			return result, err
		}
	}
	return result, nil
}

// take takes the verdicts of a round.
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

// countless are checkers that say of no bug that it was caught: a process that ends in a
// panic does not give a wrong answer, and a run in which nothing happened has none. Nor does
// liveness where it is not expected: a machine that has other things to do is slow without a bug.
var countless = []string{"exits", "vacuity"}

// controlRounds is the number of rounds a control gets: it may be slow, or show nothing, on a machine that has other
// things to do.
const controlRounds = 3

// hopeless reports whether a control has failed, for which there is no second chance: unless it was slow only.
func (r *Result) hopeless() bool {
	return r.Control && slices.ContainsFunc(r.By, func(name string) bool { return name != liveness })
}

// asExpected reports whether a checker that was expected to see the bug did.
func (r *Result) asExpected() bool {
	return slices.ContainsFunc(r.By, func(name string) bool { return slices.Contains(r.Expected, name) })
}

func (o *Options) say(format string, args ...any) {
	_, _ = fmt.Fprintf(o.Progress, format+"\n", args...) // nothing depends on it
}
