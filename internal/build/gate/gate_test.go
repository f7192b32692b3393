package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/snowraft/snowraft/internal/test/eighth"
)

// Each check is in exactly one slice, so that eight pieces of work cover all.
func TestSlicesCoverEachCheckOnce(t *testing.T) {
	for _, name := range []string{"", "depth ./fsm TestSearch", "race ./fsm TestSearch", "scenario leaf-216"} {
		var in []int
		for k := 1; k <= eighth.Slices; k++ {
			if (&work{slice: k}).inSlice(name) {
				in = append(in, k)
			}
		}
		if len(in) != 1 {
			t.Errorf("%q is in slices %v, want one", name, in)
		}
	}
}

// Each part has its slice: it runs in every gate, or whole in one slice. Only long searches are for the night.
func TestSlicesCoverEachPart(t *testing.T) {
	var names []string
	nights := []string{"fuzz", "innocents"}
	for _, p := range table {
		if p.always == (p.slice != 0) && !slices.Contains(nights, p.name) || p.slice < 0 || p.slice > eighth.Slices || p.full == nil || slices.Contains(names, p.name) {
			t.Errorf("part %s: always %v, turn %d", p.name, p.always, p.slice)
		}
		names = append(names, p.name)
		if p.due(&work{nightly: true}) == "" {
			t.Errorf("part %s is not in the nightly run", p.name)
		}
	}
}

// The paths that trigger parts exist, so that a renamed file does not switch a trigger off.
func TestTriggersExist(t *testing.T) {
	for _, p := range table {
		for _, prefix := range p.paths {
			if found, err := filepath.Glob(filepath.Join("../../..", prefix+"*")); err != nil || len(found) == 0 {
				t.Errorf("part %s: no path begins with %s", p.name, prefix)
			}
		}
	}
	for _, p := range slices.Concat(raced, scattered) {
		if info, err := os.Stat(filepath.Join("../../..", p)); err != nil || !info.IsDir() {
			t.Errorf("no package %s", p)
		}
	}
}

func TestDue(t *testing.T) {
	part := part{name: "chart", slice: 2, paths: []string{"deploy/helm/"}}
	for _, c := range []struct {
		name string
		w    work
		want string
	}{
		{"unchanged", work{base: "abc", slice: 1, changed: []string{"deploy/linux/x"}}, ""},
		{"changed", work{base: "abc", slice: 1, changed: []string{"README.md", "deploy/helm/Chart.yaml"}}, "changed"},
		{"its turn", work{base: "abc", slice: 2}, "slice 2"},
		{"no history", work{slice: 1}, "changed"},
		{"nightly", work{base: "abc", slice: 1, nightly: true}, "nightly"},
	} {
		if got := part.due(&c.w); got != c.want {
			t.Errorf("%s: due() = %q, want %q", c.name, got, c.want)
		}
	}
}

// Changes count from the move of the slice before the last one, because the last one completes the work that is judged.
func TestReadWork(t *testing.T) {
	dir := t.TempDir()
	git := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir, "-c", "user.name=t", "-c", "user.email=t@localhost"}, args...)...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	commit := func(name, text string) string {
		t.Helper()
		write(name, text)
		git("add", "-A")
		git("commit", "-qm", name)
		return git("rev-parse", "HEAD")
	}
	read := func(since string) *work {
		t.Helper()
		w, err := readWork(t.Context(), dir, since)
		if err != nil {
			t.Fatal(err)
		}
		return w
	}

	git("init", "-q")
	commit("fsm/a.go", "a")
	first := commit(sliceFile, "8\n")
	if w := read(""); w.base != "" || !w.changes("anything") || w.slice != 8 {
		t.Errorf("with one move: %s", w)
	}
	commit("fsm/b.go", "b")
	second := commit(sliceFile, "1\n")
	if w := read(""); w.base != first || !slices.Equal(w.changed, []string{"fsm/b.go"}) || !w.changes("fsm/") || w.changes("server/") || !w.clean {
		t.Errorf("with two moves: %s: %v", w, w.changed)
	}
	write("server/c.go", "c")
	if w := read(""); w.base != first || !slices.Equal(w.changed, []string{"fsm/b.go", "server/c.go"}) || w.clean {
		t.Errorf("with a new file: %s: %v", w, w.changed)
	}
	if w := read(second); !slices.Equal(w.changed, []string{"server/c.go"}) {
		t.Errorf("since the last move: %v", w.changed)
	}
	write(sliceFile, "9\n")
	if _, err := readWork(t.Context(), dir, ""); err == nil {
		t.Error("slice 9 is accepted")
	}
}

func TestCounter(t *testing.T) {
	const pkg = `"Package":"p",`
	for _, c := range []struct {
		name, in, out string
		passed        int
		none          bool
	}{
		{"passed", `{"Action":"output",` + pkg + `"Test":"TestA","Output":"noise\n"}
{"Action":"pass",` + pkg + `"Test":"TestA","Elapsed":1}
{"Action":"output",` + pkg + `"Output":"ok  p\n"}
{"Action":"pass",` + pkg + `"Elapsed":1.5}
`, "ok p 1.5 s\n", 1, false},
		{"failed", `{"Action":"output",` + pkg + `"Test":"TestA","Output":"reason\n"}
{"Action":"fail",` + pkg + `"Test":"TestA"}
{"Action":"fail",` + pkg + `"Elapsed":2}
`, "reason\nFAIL p 2.0 s\n", 0, false},
		{"panicked", `{"Action":"output",` + pkg + `"Test":"TestA","Output":"panic: x\n"}
{"Action":"fail",` + pkg + `"Elapsed":0}
`, "panic: x\nFAIL p 0.0 s\n", 0, false},
		{"does not compile", `{"Action":"build-output","ImportPath":"p","Output":"x.go:1: no\n"}
`, "x.go:1: no\n", 0, false},
		{"skipped", `{"Action":"skip",` + pkg + `"Test":"TestA"}
`, "", 0, false},
		{"other tools", "ok  \tfsm\tFuzzA\nmore\n", "ok  \tfsm\tFuzzA\nmore\n", 1, false},
		{"no test of the slice", "0 of 12 tests selected\n", "0 of 12 tests selected\n", 0, true},
		{"no end of line", "{", "{\n", 0, false},
	} {
		var out bytes.Buffer
		n := newCounter(&out)
		for i := range len(c.in) { // a byte at a time
			_, _ = n.Write([]byte{c.in[i]})
		}
		n.end(true)
		if out.String() != c.out || n.passed != c.passed || n.none != c.none {
			t.Errorf("%s: %q, %d passed, none %v; want %q, %d, %v", c.name, out.String(), n.passed, n.none, c.out, c.passed, c.none)
		}
	}
}

// A scenario that fails is named with the lines that explain it.
func TestCounterExplainsRuns(t *testing.T) {
	n := newCounter(io.Discard)
	_, _ = io.WriteString(n, "pd-1  PASS  well\n  and good\npd-2  INVALID  bad\n    not reached\n    not compared\nreports: here\n  there\n")
	if want := []string{"pd-2  INVALID  bad", "not reached", "not compared"}; !slices.Equal(n.reasons(), want) {
		t.Errorf("%q, want %q", n.reasons(), want)
	}
}

// A run that fails without a verdict is explained by its last lines.
func TestCounterKeepsTheLastLines(t *testing.T) {
	n := newCounter(io.Discard)
	_, _ = io.WriteString(n, strings.Repeat("step\n", 50)+"jepsen: open x: input/output error\nexit status 3\n")
	got := n.reasons()
	if len(got) != maxLast || !slices.Equal(got[maxLast-2:], []string{"jepsen: open x: input/output error", "exit status 3"}) {
		t.Errorf("%q", got)
	}
}

// The last lines of a gate say why it failed.
func TestRunnerEndsWithReasons(t *testing.T) {
	var out bytes.Buffer
	r := &runner{root: t.TempDir(), env: os.Environ(), out: &out}
	events := `{"Action":"output","Package":"x/p","Test":"TestA","Output":"    a_test.go:7: got 1, want 2\n"}
{"Action":"output","Package":"x/p","Test":"TestA","Output":"    time=1 level=INFO\n"}
{"Action":"fail","Package":"x/p","Test":"TestA"}
{"Action":"fail","Package":"x/p"}
`
	fails := tests("sh", "-c", "printf '%s' '"+events+"'; exit 1")
	if err := r.all(t.Context(), []job{{part: part{name: "race"}, commands: []command{fails}}}); !errors.Is(err, errFailed) {
		t.Errorf("%v, want %v", err, errFailed)
	}
	_, end, _ := strings.Cut(out.String(), "=== parts\n")
	if !strings.Contains(end, "exit status 1\n=== race: p TestA: a_test.go:7: got 1, want 2\n=== ") || strings.Contains(end, "TestA: time") {
		t.Errorf("the end is %q", end)
	}
}

func TestRunnerCountsChecks(t *testing.T) {
	sh := func(script string) command { return program("sh", "-c", script) }
	counted := func(script string) command { return tests("sh", "-c", script) }
	for _, c := range []struct {
		name     string
		commands []command
		want     verdict
	}{
		{"commands", []command{sh("true"), sh("true")}, verdict{checks: 2}},
		{"a command fails", []command{sh("false"), sh("true")}, verdict{checks: 1, failed: true}},
		{"tests", []command{counted("echo ok a; echo ok b")}, verdict{checks: 2}},
		{"no tests", []command{counted("echo none")}, verdict{failed: true}},
		{"no tests in one of two", []command{counted("echo ok a"), counted("true")}, verdict{checks: 1, failed: true}},
		{"no test of the slice", []command{counted("echo 0 of 3 tests selected")}, verdict{}},
		{"a warning", []command{warning(sh("false"))}, verdict{checks: 1, warnings: []string{"sh -c false: exit status 1"}}},
		{"not checked", []command{sh("exit 75")}, verdict{checks: 1, warnings: []string{"sh -c exit 75: exit status 75"}}},
	} {
		var out bytes.Buffer
		r := &runner{root: t.TempDir(), env: os.Environ(), out: &out}
		v := r.run(t.Context(), job{commands: c.commands}, &out)
		if v.checks != c.want.checks || v.failed != c.want.failed || !slices.Equal(v.warnings, c.want.warnings) {
			t.Errorf("%s: %+v, want %+v\n%s", c.name, v, c.want, out.String())
		}
	}
}

// One part of each lane runs at a time. Other parts that wait or compute run in the place of lanes that are empty. Each of these jobs
// waits for those that must run at the same time.
func TestRunnerUsesLanes(t *testing.T) {
	together := func(name string, others ...string) job {
		script := "touch " + name
		for _, o := range others {
			script += "; until [ -e " + o + " ]; do sleep 0.01; done"
		}
		return job{part: part{name: name}, commands: []command{program("sh", "-ec", script)}}
	}
	in := func(l lane, j job) job {
		j.part.lane = l
		return j
	}
	holds := job{part: part{name: "holds", lane: packs}, commands: []command{program("sh", "-ec", "mkdir held; [ -e first ]; rmdir held")}}
	r := &runner{root: t.TempDir(), env: os.Environ(), out: io.Discard}
	if err := r.all(t.Context(), []job{
		in(computes, together("a", "b", "c")), in(computes, together("g", "h")), in(computes, together("h", "g")), in(packs, together("b", "a", "c")), holds, holds,
		in(waits, together("c", "a", "b")), in(waits, together("d", "e")), in(waits, together("e", "d")),
		in(alone, together("first")),
	}); err != nil {
		t.Error(err)
	}
}

// The nightly run does not repeat a part that passed at the same commit.
func TestNightlyContinues(t *testing.T) {
	dir := t.TempDir()
	jobs := []job{
		{part: part{name: "a"}, commands: []command{program("sh", "-c", "echo run >>runs")}},
		{part: part{name: "b"}, commands: []command{program("sh", "-c", "test -e fixed")}},
	}
	night := func() error {
		return (&runner{root: dir, env: os.Environ(), out: new(bytes.Buffer), logs: filepath.Join(dir, "nightly", "abc")}).all(context.Background(), jobs)
	}
	if err := night(); !errors.Is(err, errFailed) {
		t.Fatalf("first night: %v, want %v", err, errFailed)
	}
	if err := os.WriteFile(filepath.Join(dir, "fixed"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := night(); err != nil {
		t.Fatalf("second night: %v", err)
	}
	if runs, err := os.ReadFile(filepath.Join(dir, "runs")); err != nil || string(runs) != "run\n" {
		t.Errorf("part a ran %q, want once (%v)", runs, err)
	}
}
