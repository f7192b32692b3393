package main

import (
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestReadingsOfGoTest(t *testing.T) {
	t.Parallel()
	const out = `goos: linux
cpu: some processor
BenchmarkLane/lanes=1/batch=100-2         	       5	 200 ns/op	         4.10 M-ids/s	       0 B/op
BenchmarkLane/lanes=1/batch=100-2         	       5	 100 ns/op	         4.20 M-ids/s	       0 B/op
BenchmarkLane/lanes=1/batch=100-2         	       5	 400 ns/op	         4.00 M-ids/s	       0 B/op
BenchmarkAlone 	 1	 7.5 ns/op
    pace_test.go:1: 5ms, tenfold: 2 calls waited
    pace_test.go:1: 5ms, tenfold: 4 calls waited
    pace_test.go:1: 5ms, tenfold: 3 calls waited
PASS
ok  	some/package	3.343s
`
	readings := map[string]*reading{}
	goTest{logs: map[string]*regexp.Regexp{"waited": regexp.MustCompile(`tenfold: ([0-9]+) calls`)}}.read([]byte(out), readings)
	for name, want := range map[string]float64{
		"Lane/lanes=1/batch=100 ns/op": 200, "Lane/lanes=1/batch=100 M-ids/s": 4.1, "Lane/lanes=1/batch=100 B/op": 0, "Alone ns/op": 7.5, "waited": 4,
	} {
		if r := readings[name]; r == nil || r.value() != want {
			t.Errorf("%s: %v, want %v", name, r, want)
		}
	}
	if len(readings) != 5 {
		t.Errorf("%d readings, want 5", len(readings))
	}
}

func TestCommandsOfGoTest(t *testing.T) {
	t.Parallel()
	e := &env{options: options{rounds: 5, duration: 2 * time.Second}}
	short := &env{options: options{rounds: 1, duration: 100 * time.Millisecond}}
	for _, c := range []struct {
		run  goTest
		e    *env
		want string
	}{
		{goTest{pkg: "fsm", bench: "A|B"}, e, "test ./fsm -run '^$' -timeout 30m -benchtime 1s -count 5 -bench 'A|B'"},
		{goTest{pkg: "fsm", bench: "A"}, short, "test ./fsm -run '^$' -timeout 30m -benchtime 100ms -count 1 -bench A"},
		{goTest{pkg: "fsm", bench: "A", benchtime: "1x", once: true}, e, "test ./fsm -run '^$' -timeout 30m -benchtime 1x -count 1 -bench A"},
		{goTest{pkg: "fsm", run: "TestA"}, e, "test ./fsm -count 1 -v -run TestA"},
		{goTest{pkg: "fsm", run: "TestA", flags: []string{"-n=5"}}, e, "test ./fsm -count 1 -v -run TestA -n=5"},
	} {
		if got := strings.Join(quoted(c.run.args(c.e)), " "); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}
