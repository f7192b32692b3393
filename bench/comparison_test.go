package main

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestMedian(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		values []float64
		want   float64
	}{{nil, 0}, {[]float64{3}, 3}, {[]float64{9, 1, 5}, 5}, {[]float64{4, 1, 3, 2}, 2.5}, {[]float64{7, 7, 1, 7}, 7}} {
		before := slices.Clone(c.values)
		if got := median(c.values); got != c.want || !slices.Equal(before, c.values) {
			t.Errorf("median of %v is %v, want %v", before, got, c.want)
		}
	}
}

// scripted returns a contender whose turns return these rates and record themselves in turns. The first rate
// does not count.
func scripted(name, against string, turns *[]string, rates ...float64) contender {
	return contender{name: name, against: against, turn: func(context.Context, time.Duration) (figures, error) {
		*turns = append(*turns, name)
		rate := rates[0]
		rates = rates[1:]
		return figures{calls: rate}, nil
	}}
}

// inThrees formats the recorded turns by round.
func inThrees(turns []string) string {
	var rounds []string
	for round := range slices.Chunk(turns, 3) {
		rounds = append(rounds, strings.Join(round, " "))
	}
	return strings.Join(rounds, "; ")
}

func TestContendersTakeTurns(t *testing.T) {
	t.Parallel()
	var turns []string
	c := comparison{
		heading: "who",
		contenders: []contender{
			scripted("them", "", &turns, 1, 100, 200, 400),
			scripted("us", "them", &turns, 1, 90, 400, 200),
			scripted("other", "nobody", &turns, 1, 1, 1, 1),
		},
		columns: []column{{"rate", calls, false, whole}, {"of theirs", calls, true, ratio}, {"p99", p99, false, nanoseconds}},
		targets: []target{
			{text: "at least 0.95 of theirs", of: "us", figure: calls, ratio: true, atLeast: 0.95, format: ratio},
			{text: "at most 150", of: "us", figure: calls, atMost: 150, format: whole},
			{text: "exactly theirs", of: "us", figure: calls, ratio: true, atLeast: 0.9, atMost: 0.9, format: ratio},
			{text: "not measured", of: "us", figure: p99, atLeast: 1, format: ratio},
			{text: "of nobody", of: "nobody", figure: calls, atLeast: 1, format: ratio},
		},
	}
	e := &env{options: options{rounds: 3, duration: time.Second}}
	table, err := c.measure(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := inThrees(turns), "them us other; them us other; other us them; them us other"; got != want {
		t.Errorf("the turns are %s, want %s", got, want)
	}
	// The median of the ratios 0.9, 2 and 0.5 is not the ratio of the medians.
	const want = `| who | rate | of theirs | p99 |
|---|---|---|---|
| them | 200 |  |  |
| us | 200 | 0.90 |  |
| other | 1 |  |  |

- Target: at least 0.95 of theirs. **Not met**: 0.90.
- Target: at most 150. **Not met**: 200.
- Target: exactly theirs. Met: 0.90.
`
	if got := table.markdown(); got != want {
		t.Errorf("the table is\n%s\nwant\n%s", got, want)
	}
}

func TestFailedTurn(t *testing.T) {
	t.Parallel()
	failing := contender{name: "us", turn: func(context.Context, time.Duration) (figures, error) { return nil, errors.New("broken") }}
	_, err := comparison{contenders: []contender{failing}}.measure(t.Context(), &env{options: options{rounds: 1, duration: time.Second}})
	if err == nil || err.Error() != "us: broken" {
		t.Errorf("%v, want us: broken", err)
	}
}

// A section that fails or is skipped does not prevent the measurement of other sections.
func TestMeasureAll(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	e := &env{options: options{rounds: 1, duration: time.Second}, out: &out}
	err := e.measureAll(t.Context(), []section{
		{name: "a", measure: func(context.Context, *env) (*table, error) { return nil, errors.New("broken") }},
		{name: "b", measure: func(context.Context, *env) (*table, error) { return nil, &skippedError{"not installed"} }},
		{name: "c", measure: func(context.Context, *env) (*table, error) { return &table{columns: []string{"x|y"}}, nil }},
	})
	if err == nil || err.Error() != "a: broken" {
		t.Errorf("%v, want a: broken", err)
	}
	for _, want := range []string{"Failed: broken", "Skipped: not installed.", `| x\|y |`, "One turn of 1 s each. Machine: "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in %s", want, out.String())
		}
	}
}

func TestChoose(t *testing.T) {
	t.Parallel()
	all := func() []section { return []section{{name: "unary"}, {name: "idle", long: true}, {name: "http"}} }
	long := slices.IndexFunc(sections(), func(s section) bool { return s.long })
	if long < 0 {
		t.Error("no section is long")
	}
	for _, c := range []struct {
		o    options
		want string
	}{
		{options{}, "unary http"}, {options{long: true}, "unary idle http"}, {options{only: "idle"}, "idle"},
		{options{only: "http,unary"}, "unary http"}, {options{except: "unary"}, "http"}, {options{only: "nope"}, "error"},
	} {
		chosen, err := choose(all(), c.o)
		var got []string
		for _, s := range chosen {
			got = append(got, s.name)
		}
		if err != nil {
			got = []string{"error"}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%+v: %v, want %s", c.o, got, c.want)
		}
	}
	if err := run(t.Context(), []string{"--rounds", "0"}); err == nil {
		t.Error("no rounds are accepted")
	}
}
