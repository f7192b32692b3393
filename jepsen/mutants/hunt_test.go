//go:build linux

package mutants

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/snowraft/snowraft/jepsen/check"
)

// verdicts returns the verdicts of a run in which the named checkers failed. A checker with a question mark found the run
// invalid.
func verdicts(failed ...string) []check.Verdict {
	var all []check.Verdict
	for _, name := range []string{containment, logAudit, uniqueness, order, refusal, liveness, "exits", "vacuity"} {
		v := check.Verdict{Checker: name, Outcome: check.Pass, Facts: map[string]int64{}}
		switch {
		case slices.Contains(failed, name):
			v.Outcome, v.Failures = check.Fail, []string{"a failure"}
		case slices.Contains(failed, name+"?"):
			v.Outcome, v.Failures = check.Invalid, []string{"a gap"}
		}
		if name == "vacuity" {
			v.Facts["ops"] = 100
		}
		all = append(all, v)
	}
	return all
}

// TestHunt describes each round by the checkers that fail in it.
func TestHunt(t *testing.T) {
	t.Parallel()
	bug := Row{Bug: "no-sync", Expected: []string{logAudit}}
	for name, c := range map[string]struct {
		row      Row
		rounds   []string
		want     Result
		caughtBy string
	}{
		"at once":                      {bug, []string{"log-audit"}, Result{OK: true, By: []string{logAudit}, Rounds: 1}, "log-audit"},
		"later":                        {bug, []string{"", "log-audit order"}, Result{OK: true, By: []string{logAudit, order}, Rounds: 2}, "log-audit, order"},
		"by another":                   {bug, []string{"order"}, Result{OK: true, By: []string{order}, Rounds: 1}, "order (expected log-audit)"},
		"only by another":              {Row{Bug: "no-token-check", Expected: []string{logAudit}, OnlyExpected: true}, []string{"order", "order", "order"}, Result{By: []string{order}, Rounds: 3}, "NO CHECKER (order does not count)"},
		"never":                        {bug, []string{"", "", ""}, Result{Rounds: 3}, "NO CHECKER"},
		"a panic":                      {bug, []string{"exits", "exits", "exits"}, Result{Rounds: 3}, "NO CHECKER"},
		"invalid":                      {bug, []string{"containment?", "vacuity?", "vacuity?"}, Result{Rounds: 3, Invalid: 3}, "NO CHECKER: no round shows anything"},
		"both":                         {bug, []string{"containment? log-audit"}, Result{OK: true, By: []string{logAudit}, Rounds: 1}, "log-audit"},
		"control":                      {Row{}, []string{""}, Result{OK: true, Rounds: 1}, "no checker, as expected"},
		"busy control":                 {Row{}, []string{"liveness", ""}, Result{OK: true, Rounds: 2}, "no checker, as expected"},
		"bad control":                  {Row{}, []string{"order", "order", "exits"}, Result{Rounds: 1, By: []string{order}}, "FAILED: order"},
		"control that panics":          {Row{}, []string{"exits", "exits", "exits"}, Result{Rounds: 1, By: []string{"exits"}}, "FAILED: exits"},
		"control with little activity": {Row{}, []string{"vacuity?", "vacuity?", "vacuity?"}, Result{Rounds: 3, Invalid: 3}, "FAILED: no round shows anything"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			made, rounds := 0, 3
			if c.row.control() {
				rounds = 5 // more than controlRounds
			}
			o := Options{
				Dir: t.TempDir(), Seed: 5, Rounds: rounds, Progress: &bytes.Buffer{},
				Make: func(_ context.Context, r Round) error {
					if r.Seed != 5+uint64(made) || r.Row.Bug != c.row.Bug {
						t.Errorf("Make() of round %d got %+v", made+1, r)
					}
					made++
					return os.Mkdir(r.Dir, 0o700)
				},
				Judge: func(dir string) ([]check.Verdict, error) {
					if _, err := os.Stat(dir); err != nil {
						t.Error(err)
					}
					return verdicts(strings.Fields(c.rounds[made-1])...), nil
				},
			}
			results, err := Hunt(t.Context(), o, []Row{c.row})
			if err != nil || len(results) != 1 {
				t.Fatal(results, err)
			}
			r := results[0]
			if r.OK != c.want.OK || !slices.Equal(r.By, c.want.By) || r.Rounds != c.want.Rounds || r.Invalid != c.want.Invalid ||
				r.Operations != int64(100*c.want.Rounds) || r.caughtBy() != c.caughtBy || AllOK(results) != c.want.OK {
				t.Errorf("result %+v, %q; want %+v, %q", r, r.caughtBy(), c.want, c.caughtBy)
			}
			if left, err := filepath.Glob(filepath.Join(o.Dir, "*")); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}

func TestHuntKeepsDecidingRound(t *testing.T) {
	t.Parallel()
	o := Options{
		Dir: t.TempDir(), Rounds: 2, Keep: true, Progress: &bytes.Buffer{},
		Make:  func(_ context.Context, r Round) error { return os.Mkdir(r.Dir, 0o700) },
		Judge: func(string) ([]check.Verdict, error) { return verdicts(), nil },
	}
	results, err := Hunt(t.Context(), o, []Row{{Bug: "no-sync"}})
	if err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(filepath.Join(o.Dir, "*"))
	if err != nil || !slices.Equal(left, []string{results[0].Dir}) || filepath.Base(results[0].Dir) != "no-sync.2" {
		t.Errorf("kept %v, %v, want the directory of round 2; results %+v", left, err, results)
	}
}

func TestHuntStopsAtError(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	made := 0
	o := Options{
		Dir: t.TempDir(), Rounds: 2, Progress: &bytes.Buffer{},
		Make: func(context.Context, Round) error {
			if made++; made == 2 {
				return broken
			}
			return nil
		},
		Judge: func(string) ([]check.Verdict, error) { return verdicts(order), nil },
	}
	results, err := Hunt(t.Context(), o, Rows()[1:])
	if !errors.Is(err, broken) || len(results) != 1 || made != 2 {
		t.Errorf("Hunt() = %v, %v after %d rounds; want 1 result and %v after 2", results, err, made, broken)
	}
}

// TestHuntContinuesAfterErrNoRun has rounds that cannot be completed. Each is followed by another, except the last.
func TestHuntContinuesAfterErrNoRun(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		failing []int // numbers of the rounds with ErrNoRun
		fails   bool
		want    Result
	}{
		"at first": {failing: []int{1, 2}, want: Result{OK: true, Rounds: 3, Invalid: 2}},
		"never":    {failing: []int{1, 2, 3}, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			made := 0
			o := Options{
				Dir: t.TempDir(), Rounds: 3, Progress: &bytes.Buffer{},
				Make: func(context.Context, Round) error {
					if made++; slices.Contains(c.failing, made) {
						return fmt.Errorf("%w: the cluster did not start", ErrNoRun)
					}
					return nil
				},
				Judge: func(string) ([]check.Verdict, error) { return verdicts(order), nil },
			}
			results, err := Hunt(t.Context(), o, []Row{{Bug: "no-sync"}})
			if c.fails {
				if !errors.Is(err, ErrNoRun) || made != 3 {
					t.Errorf("Hunt() = %v, %v after %d rounds; want %v after 3", results, err, made, ErrNoRun)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if r := results[0]; r.OK != c.want.OK || r.Rounds != c.want.Rounds || r.Invalid != c.want.Invalid {
				t.Errorf("result %+v, want %+v", r, c.want)
			}
		})
	}
}

func TestTable(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	err := Table(&b, []Result{
		{Mutant: ControlName, Control: true, OK: true, Rounds: 1, Operations: 9000, Seconds: 80},
		{Mutant: "no-sync", OK: true, By: []string{logAudit}, Expected: []string{logAudit}, Rounds: 2, Operations: 12000, Seconds: 70.4},
		{Mutant: "keep-leader-term", Rounds: 3, Operations: 5, Seconds: 100},
	})
	want := `mutant            caught by                rounds  operations  seconds
control           no checker, as expected  1       9000        80
no-sync           log-audit                2       12000       70
keep-leader-term  NO CHECKER               3       5           100
1 of 2 mutants were caught; the slowest, no-sync, took 70 s and 12000 operations.
`
	if err != nil || b.String() != want {
		t.Errorf("Table() = %v, wrote\n%s\nwant\n%s", err, &b, want)
	}
}
