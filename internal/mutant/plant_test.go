//go:build mutants

package mutant

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestPlantedBugsAreCaught runs tests with each bug planted, and checks that they fail, or pass, as
// the patch says. Two bugs at a time fill two cores: much of a run is linking.
func TestPlantedBugsAreCaught(t *testing.T) {
	patches, err := Load(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range patches {
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			built := make(map[string]string) // test binaries
			for _, r := range p.Runs {
				planted := []Patch{p}
				if r.With != "" {
					others, err := Named(patches, r.With)
					if err != nil {
						t.Fatal(err)
					}
					planted = append(planted, others...)
				}
				key := r.Package + " with " + r.With
				if built[key] == "" {
					built[key] = build(t, r.Package, planted...)
				}
				o := execute(t, built[key], r.Package, exactly(r.Test), r.Flags)
				if fault := o.fault(r.Caught); fault != "" {
					t.Errorf("%s -run %s %v: %s\n%s", r.Package, r.Test, r.Flags, fault, o.text)
				} else {
					t.Logf("%s -run %s: %v, failed: %v", r.Package, r.Test, o.took.Round(100*time.Millisecond), o.failed)
				}
			}
		})
	}
}

// tooDeep makes a search that takes minutes and gigabytes where there is nothing to find.
const tooDeep = "-fsm.weaker=8"

// TestWithoutPlantedBugs is the control: the same tests with the same flags pass without a bug. Only
// what is tooDeep runs without its flag.
func TestWithoutPlantedBugs(t *testing.T) {
	patches, err := Load(root)
	if err != nil {
		t.Fatal(err)
	}
	runs := make(map[string]map[string][]string) // package, flags, patterns
	for _, p := range patches {
		for _, r := range p.Runs {
			flags := strings.Join(slices.DeleteFunc(slices.Clone(r.Flags), func(f string) bool { return f == tooDeep }), " ")
			if runs[r.Package] == nil {
				runs[r.Package] = make(map[string][]string)
			}
			if name := exactly(r.Test); !slices.Contains(runs[r.Package][flags], name) {
				runs[r.Package][flags] = append(runs[r.Package][flags], name)
			}
		}
	}
	for pkg, byFlags := range runs {
		t.Run(pkg, func(t *testing.T) {
			t.Parallel()
			program := build(t, pkg)
			for flags, patterns := range byFlags {
				o := execute(t, program, pkg, strings.Join(patterns, "|"), strings.Fields(flags))
				if fault := o.fault(false); fault != "" {
					t.Errorf("%s %s\n%s", flags, fault, o.text)
				}
			}
		})
	}
}

// exactly is the pattern of a test, or of a subtest.
func exactly(test string) string {
	return "^" + strings.Join(strings.Split(test, "/"), "$/^") + "$"
}

// quickly makes the compiler and the linker quick. They take most of a run; the tests themselves take little.
var quickly = []string{"-gcflags=github.com/snowraft/snowraft/...=-N -l -dwarf=false", "-ldflags=-s -w"}

// build builds the tests of a package with bugs planted.
func build(t *testing.T, pkg string, planted ...Patch) (program string) {
	t.Helper()
	overlay, err := Overlay(t.Context(), root, t.TempDir(), planted...)
	if err != nil {
		t.Fatal(err)
	}
	program = filepath.Join(t.TempDir(), "tests")
	args := slices.Concat([]string{"test", "-c", "-vet=off", "-overlay=" + overlay, "-o=" + program}, quickly, []string{pkg})
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s does not compile: %v\n%s", pkg, err, out)
	}
	return program
}

// outcome is the result of a run of tests.
type outcome struct {
	passed, failed []string // tests
	broken         string   // reason of a run without a result: a panic, a time-out, an unknown flag
	took           time.Duration
	text           string
}

// limit bounds one run. The deepest searches take about 20 s, or several times as long on a busy machine.
const limit = "300s"

var (
	result = regexp.MustCompile(`(?m)^\s*--- (PASS|FAIL): (\S+)`)
	crash  = regexp.MustCompile(`(?m)^(panic|fatal error): .*$`)
)

func execute(t *testing.T, program, pkg, pattern string, flags []string) (o outcome) {
	t.Helper()
	args := append([]string{"-test.v", "-test.failfast", "-test.timeout=" + limit, "-test.run=" + pattern}, flags...)
	const noFile = "-rapid.nofailfile" // the failures of planted bugs are not replayed
	if help, _ := exec.CommandContext(t.Context(), program, "-help").CombinedOutput(); strings.Contains(string(help), noFile) {
		args = append(args, noFile)
	}
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir = filepath.Join(root, pkg)
	begun := time.Now()
	out, err := cmd.CombinedOutput()
	o.took, o.text, o.broken = time.Since(begun), string(out), crash.FindString(string(out))
	for _, m := range result.FindAllStringSubmatch(o.text, -1) {
		if m[1] == "PASS" {
			o.passed = append(o.passed, m[2])
		} else {
			o.failed = append(o.failed, m[2])
		}
	}
	if err != nil && len(o.failed) == 0 && o.broken == "" {
		o.broken = err.Error()
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
