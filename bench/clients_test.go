package main

import (
	"context"
	"strings"
	"testing"
	"time"
)

func TestResultsOfTools(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name         string
		tool         tool
		output, file string
		want         figures // nil: an error
	}{
		{
			"JMH", jmh, "# JMH version",
			`[{"primaryMetric":{"score":25.5},"secondaryMetrics":{"gc.alloc.rate":{"score":7},"gc.alloc.rate.norm":{"score":0.25}}}]`,
			figures{each: 25.5, bytesEach: 0.25},
		},
		{"JMH without benchmarks", jmh, "", "[]", nil},
		{"JMH without a result", jmh, "", "", nil},
		{"JMH without the profiler", jmh, "", `[{"primaryMetric":{"score":25.5}}]`, nil},
		{"tinybench", tinybench, `{"ns":84.5}` + "\n", "", figures{each: 84.5}},
		{"tinybench without a time", tinybench, "{}", "", nil},
		{"tinybench without a result", tinybench, "", "", nil},
		{
			"pyperf", pyperf, "",
			`{"benchmarks":[{"runs":[{"warmups":[[1,2]]},{"values":[5e-7,1e-6,9e-7,8e-7,7e-7]}]}]}`,
			figures{each: 800},
		},
		{"pyperf with too few values", pyperf, "", `{"benchmarks":[{"runs":[{"values":[5e-7]}]}]}`, nil},
		{"pyperf without a result", pyperf, "", "", nil},
	} {
		got, err := c.tool.read([]byte(c.output), []byte(c.file))
		if (err == nil) != (c.want != nil) || len(got) != len(c.want) {
			t.Errorf("%s: %v, %v, want %v", c.name, got, err, c.want)
		}
		for figure, want := range c.want {
			if diff := got[figure] - want; diff > 1e-6 || diff < -1e-6 {
				t.Errorf("%s: %s is %v, want %v", c.name, figure, got[figure], want)
			}
		}
	}
}

// A section whose tool is missing fails, and is not skipped.
func TestMissingToolsFail(t *testing.T) {
	t.Parallel()
	e := &env{root: t.TempDir()}
	_, err := jmh.measure(context.Background(), e, comparison{})
	if err == nil || !strings.Contains(err.Error(), "make bench-clients") {
		t.Errorf("%v, want an error that names the command", err)
	}
}

func TestTargetAgainstTheFastest(t *testing.T) {
	t.Parallel()
	c := comparison{
		contenders: []contender{{name: "us"}, {name: "one"}, {name: "other"}},
		targets:    []target{{text: "at least the fastest", of: "us", figure: calls, fastest: []string{"one", "other"}, atLeast: 1, format: ratio}},
	}
	rounds := [][]figures{
		{{calls: 100}, {calls: 100}, {calls: 100}},
		{{calls: 50}, {calls: 400}, {calls: 80}},
		{{calls: 200}, {calls: 40}, {calls: 100}},
	}
	// The ratios are 0.5, 0.25 and 1.
	if notes := c.table(rounds).notes; len(notes) != 1 || notes[0] != "Target: at least the fastest. **Not met**: 0.50." {
		t.Errorf("%q", notes)
	}
}

func TestDescriptionOfTurns(t *testing.T) {
	t.Parallel()
	for rounds, want := range map[int]string{1: "One turn of 0.3 s each", 5: "Medians of 5 turns of 0.3 s each"} {
		if got := (&env{options: options{rounds: rounds}}).turns(300 * time.Millisecond); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
