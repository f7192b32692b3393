//go:build linux

package scenario

import (
	"context"
	"strings"
	"testing"

	"github.com/snowraft/snowraft/internal/build/mutant"
	"github.com/snowraft/snowraft/jepsen/check"
	"github.com/snowraft/snowraft/jepsen/history"
	"github.com/snowraft/snowraft/jepsen/workload"
)

func TestScenariosAreComplete(t *testing.T) {
	patches, err := mutant.Load("../..")
	if err != nil {
		t.Fatal(err)
	}
	known := make(map[string]bool)
	for _, s := range All() {
		if known[s.Name] {
			t.Errorf("duplicate scenario name %s", s.Name)
		}
		known[s.Name] = true
		if s.Source == "" || s.Other == "" || len(s.Bugs) == 0 || s.script == nil {
			t.Errorf("%s is incomplete: %+v", s.Name, s)
		}
		for _, bug := range s.Bugs {
			if _, err := mutant.Named(patches, bug); err != nil {
				t.Errorf("%s: %v", s.Name, err)
			}
		}
		if _, err := workload.Choose(strings.Join(s.Loads, ",")); err != nil {
			t.Errorf("%s: %v", s.Name, err)
		}
	}
}

func TestChoose(t *testing.T) {
	all, err := Choose("all")
	if err != nil || len(all) != len(All()) {
		t.Errorf("Choose(all) = %d scenarios, %v, want %d", len(all), err, len(All()))
	}
	two, err := Choose("leaf-216", "pd-3305")
	if err != nil || len(two) != 2 || two[0].Name != "leaf-216" || two[1].Name != "pd-3305" {
		t.Errorf("Choose() = %v, %v, want leaf-216 and pd-3305", two, err)
	}
	if _, err := Choose("leaf-216", "leaf"); err == nil || !strings.Contains(err.Error(), "pd-3305") {
		t.Errorf("Choose() of an unknown name: error %v, want the names in it", err)
	}
}

func TestFinding(t *testing.T) {
	var f finding
	if v := f.verdict(); v.Outcome != check.Pass {
		t.Errorf("verdict() without observations = %+v, want pass", v)
	}
	f.see("one")
	f.see("two")
	f.need("things", 3, 3)
	if v := f.verdict(); v.Outcome != check.Pass || v.Summary != "one; two" {
		t.Errorf("verdict() with sufficient evidence = %+v, want pass", v)
	}
	f.need("things", 2, 3)
	if v := f.verdict(); v.Outcome != check.Invalid || len(v.Failures) != 1 {
		t.Errorf("verdict() with insufficient evidence = %+v, want invalid", v)
	}
	for range mostViolations + 5 {
		f.violation("twice")
	}
	v := f.verdict()
	if v.Outcome != check.Fail || v.Facts["failures"] != mostViolations+5 || len(v.Failures) != mostViolations+1 {
		t.Errorf("verdict() = %+v, want fail with %d violations and the missing evidence", v, mostViolations)
	}
}

func TestConclude(t *testing.T) {
	pass := check.Verdict{Checker: "a", Outcome: check.Pass}
	invalid := check.Verdict{Checker: "b", Outcome: check.Invalid, Failures: []string{"too little"}}
	fail := check.Verdict{Checker: "c", Outcome: check.Fail, Failures: []string{"twice"}}
	for want, verdicts := range map[string][]check.Verdict{
		"pass ":                 {pass},
		"invalid b: too little": {pass, invalid},
		"fail c: twice":         {invalid, pass, fail},
		"invalid ":              nil,
	} {
		var r Result
		r.conclude("seen", verdicts)
		if got := string(r.Outcome) + " " + strings.Join(r.Failures, ";"); got != want || r.Seen != "seen" {
			t.Errorf("conclude(%+v) = %q, want %q", verdicts, got, want)
		}
	}
}

func TestUntil(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := &stage{ctx: ctx}
	looks := 0
	if err := s.until("three looks", func(context.Context) bool { looks++; return looks == 3 }); err != nil || looks != 3 {
		t.Errorf("until() = %v after %d looks, want nil after 3", err, looks)
	}
	cancel()
	err := s.until("never", func(context.Context) bool { return false })
	if _, ok := err.(unreachedError); !ok || !strings.Contains(err.Error(), "never") { //nolint:errorlint // not wrapped
		t.Errorf("until() = %v, want an unreachedError with the condition", err)
	}
}

func TestLaterRunsOnce(t *testing.T) {
	s := &stage{ctx: t.Context()}
	var done []string
	now := s.later(func(context.Context) error { done = append(done, "first"); return nil })
	_ = s.later(func(context.Context) error { done = append(done, "second"); return nil })
	_ = s.later(func(context.Context) error { done = append(done, "third"); return nil })
	if err := now(); err != nil {
		t.Error(err)
	}
	if err := s.heal(); err != nil {
		t.Error(err)
	}
	if got := strings.Join(done, " "); got != "first third second" {
		t.Errorf("order = %s, want first third second", got)
	}
}

func TestTaker(t *testing.T) {
	var k taker
	for _, op := range []history.Op{
		{Outcome: history.OK, First: 7, Count: 3, Increment: 1},
		{Outcome: history.OK, First: 1, Count: 2, Increment: 1},
		{Outcome: history.Info}, {Outcome: history.Fail},
	} {
		if k.answered(op) != (op.Outcome == history.OK) {
			t.Errorf("answered(%+v) = %t", op, op.Outcome != history.OK)
		}
	}
	if k.highest.Load() != 9 || k.answers.Load() != 2 {
		t.Errorf("taker has the highest number %d and %d answers, want 9 and 2", k.highest.Load(), k.answers.Load())
	}
}
