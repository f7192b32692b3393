//go:build mutants

package mutant

import (
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// workshop builds programs of tests with bugs planted, each once.
type workshop struct {
	all     []Patch
	planted []Patch // those that run

	mu       sync.Mutex // a build uses all cores
	dir      string
	programs map[string]*program
	builds   int
	overlay  string   // the combined sources; empty until they are needed
	bugs     []string // names of the bugs in overlay
	misfits  []string // bugs that do not compile together with the others
}

// program is the tests of a package.
type program struct {
	path    string
	chooses bool // whether it has only those bugs that the environment names
	help    string
}

func newWorkshop(t *testing.T, all []Patch) *workshop {
	t.Helper()
	return &workshop{all: all, dir: t.TempDir(), programs: make(map[string]*program)}
}

// program returns the program for a run: the combined one, if the bug fits and is the only one of the run.
func (w *workshop) program(t *testing.T, p Patch, r Run) *program {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	patches := []Patch{p}
	if r.With != "" {
		others, err := Named(w.all, r.With)
		if err != nil {
			t.Fatal(err)
		}
		patches = append(patches, others...)
	} else if w.combine(t); slices.Contains(w.bugs, p.Name) {
		if shared := w.combined(t, r.Package); slices.Contains(w.bugs, p.Name) {
			return shared
		}
	}
	key := fmt.Sprintf("%s of %s with %q", r.Package, p.Name, r.With)
	if w.programs[key] == nil {
		overlay, err := Overlay(t.Context(), root, t.TempDir(), patches...)
		if err != nil {
			t.Fatal(err)
		}
		dir, out, err := w.build(t, overlay, r.Package)
		if err != nil {
			t.Fatalf("%s does not compile: %v\n%s", r.Package, err, out)
		}
		w.programs[key] = newProgram(t, dir, r.Package, false)
	}
	return w.programs[key]
}

// control returns the program of a package that has no bug unless it is to choose one.
func (w *workshop) control(t *testing.T, pkg string) *program {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.combined(t, pkg)
}

// combined returns the program with all bugs that fit.
func (w *workshop) combined(t *testing.T, pkg string) *program {
	t.Helper()
	for w.programs[pkg] == nil {
		w.combine(t)
		pkgs := w.batch(pkg)
		dir, out, err := w.build(t, w.overlay, pkgs...)
		if err == nil {
			for _, pkg := range pkgs {
				w.programs[pkg] = newProgram(t, dir, pkg, true)
			}
			break
		}
		misfits := blamed(out)
		if len(misfits) == 0 {
			t.Fatalf("%s does not compile with bugs combined: %v\n%s", pkg, err, out)
		}
		t.Logf("together they do not compile, so they get builds of their own: %s", out)
		w.misfits = append(w.misfits, misfits...)
		w.overlay = ""
	}
	return w.programs[pkg]
}

// batch returns a package and others to build at once: the go command links programs side by side, if their names differ.
func (w *workshop) batch(pkg string) []string {
	pkgs := []string{pkg}
	for _, p := range w.planted {
		for _, r := range p.Runs {
			named := func(other string) bool { return path.Base(other) == path.Base(r.Package) }
			if w.programs[r.Package] == nil && !slices.ContainsFunc(pkgs, named) {
				pkgs = append(pkgs, r.Package)
			}
		}
	}
	return pkgs
}

// combine makes the overlay with all bugs that fit, if there is none.
func (w *workshop) combine(t *testing.T) {
	t.Helper()
	if w.overlay != "" {
		return
	}
	patches := slices.DeleteFunc(slices.Clone(w.planted), func(p Patch) bool { return slices.Contains(w.misfits, p.Name) })
	var err error
	dir := filepath.Join(w.dir, fmt.Sprintf("combined-%d", w.builds))
	if w.overlay, w.bugs, err = Combine(t.Context(), root, dir, patches...); err != nil {
		t.Fatal(err)
	}
}

// quickly makes the compiler and the linker quick.
var quickly = []string{"-gcflags=github.com/snowraft/snowraft/...=-N -l -dwarf=false", "-ldflags=-s -w"}

// build builds the tests of packages into a directory, or returns what the compiler says.
func (w *workshop) build(t *testing.T, overlay string, pkgs ...string) (dir, out string, err error) {
	t.Helper()
	w.builds += len(pkgs)
	dir = filepath.Join(w.dir, fmt.Sprintf("built-%d", w.builds))
	args := slices.Concat([]string{"test", "-c", "-vet=off", "-overlay=" + overlay, "-o=" + dir + "/"}, quickly, pkgs)
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = root
	text, err := cmd.CombinedOutput()
	return dir, string(text), err
}

func newProgram(t *testing.T, dir, pkg string, chooses bool) *program {
	t.Helper()
	file := filepath.Join(dir, path.Base(pkg)+".test")
	help, _ := exec.CommandContext(t.Context(), file, "-help").CombinedOutput() // exits with 2
	return &program{path: file, chooses: chooses, help: string(help)}
}

// outcome is the result of a run of tests.
type outcome struct {
	passed, failed []string      // tests
	broken         string        // reason of a run without a result: a panic, a time-out, an unknown flag
	took           time.Duration // processor time
	text           string
}

// limit bounds one run. The longest take 10 s of a processor, and many times as long on a busy machine.
const limit = "600s"

var (
	result = regexp.MustCompile(`(?m)^\s*--- (PASS|FAIL): (\S+)`)
	crash  = regexp.MustCompile(`(?m)^(panic|fatal error): .*$`)
)

// execute runs tests of the program with a bug that it is to choose, if it has several.
func (p *program) execute(t *testing.T, pkg, pattern string, flags []string, bug string) (o outcome) {
	t.Helper()
	args := append([]string{"-test.v", "-test.failfast", "-test.timeout=" + limit, "-test.run=" + pattern}, flags...)
	const noFile = "-rapid.nofailfile" // the failures of planted bugs are not replayed
	if strings.Contains(p.help, noFile) {
		args = append(args, noFile)
	}
	cmd := exec.CommandContext(t.Context(), p.path, args...)
	cmd.Dir = filepath.Join(root, pkg)
	trace := t.TempDir()
	depth := "whole" // a random search ends at the bug, which may hide behind many seeds
	if bug == "" {
		depth = "little" // ordinary tests show that the sources have no bug
	}
	// The seed of the commit would let a bug escape random tests of some commits.
	cmd.Env = append(os.Environ(), Choice+"="+bug, Trace+"="+trace, "SNOWRAFT_SEED=1", "SNOWRAFT_DEPTH="+depth)
	out, err := cmd.CombinedOutput()
	o.text, o.broken = string(out), crash.FindString(string(out))
	o.took = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	for _, m := range result.FindAllStringSubmatch(o.text, -1) {
		if m[1] == "PASS" {
			o.passed = append(o.passed, m[2])
		} else {
			o.failed = append(o.failed, m[2])
		}
	}
	switch {
	case o.broken != "":
	case err != nil && len(o.failed) == 0:
		o.broken = err.Error()
	case bug != "" && p.chooses:
		if _, err := os.Stat(filepath.Join(trace, bug)); err != nil {
			o.broken = "no code of the bug ran"
		}
	}
	return o
}

// fault says what is wrong with an outcome, "" if nothing is.
func (o *outcome) fault(caught bool) string {
	switch {
	case o.broken != "":
		return "it shows nothing: " + o.broken
	case len(o.passed)+len(o.failed) == 0:
		return "no test ran: there is none of this name, or it was skipped"
	case caught && len(o.failed) == 0:
		return "the tests pass in spite of the bug"
	case !caught && len(o.failed) > 0:
		return "a test fails"
	}
	return ""
}
