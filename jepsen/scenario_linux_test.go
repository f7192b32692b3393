package main

import (
	"strings"
	"testing"
	"time"

	"github.com/snowraft/snowraft/jepsen/check"
	"github.com/snowraft/snowraft/jepsen/scenario"
)

func TestScenarioExit(t *testing.T) {
	for _, c := range []struct {
		want     int
		outcomes []check.Outcome
	}{
		{exitPass, []check.Outcome{check.Pass, check.Pass}},
		{exitInvalid, []check.Outcome{check.Pass, check.Invalid, check.Pass}},
		{exitFail, []check.Outcome{check.Invalid, check.Fail, check.Pass}},
		{exitFail, []check.Outcome{check.Fail, check.Invalid}},
	} {
		var results []scenario.Result
		for _, o := range c.outcomes {
			results = append(results, scenario.Result{Outcome: o})
		}
		if got := scenarioExit(results); got != c.want {
			t.Errorf("scenarioExit(%v) = %d, want %d", c.outcomes, got, c.want)
		}
	}
}

func TestTell(t *testing.T) {
	var out strings.Builder
	printResult(&out, scenario.Result{
		Scenario: scenario.Scenario{Name: "a-1", Other: "A: issued IDs twice"},
		Outcome:  check.Fail, Seen: "two equal IDs", Failures: []string{"uniqueness: 7"}, Took: 1200 * time.Millisecond,
	})
	want := "a-1                  FAIL     A: issued IDs twice. Here: two equal IDs (1s)\n    uniqueness: 7\n"
	if out.String() != want {
		t.Errorf("tell() printed %q, want %q", out.String(), want)
	}
}

func TestScenarioList(t *testing.T) {
	var out strings.Builder
	c := root()
	c.SetOut(&out)
	c.SetArgs([]string{"scenario", "list"})
	if err := c.Execute(); err != nil {
		t.Fatal(err)
	}
	for _, name := range scenario.Names() {
		if !strings.Contains(out.String(), name) {
			t.Errorf("scenario list lacks %s:\n%s", name, &out)
		}
	}
}
