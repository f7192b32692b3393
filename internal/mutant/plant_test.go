//go:build mutants

package mutant

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
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
			for _, r := range p.Runs {
				planted := []Patch{p}
				if r.With != "" {
					others, err := Named(patches, r.With)
					if err != nil {
						t.Fatal(err)
					}
					planted = append(planted, others...)
				}
				overlay, err := Overlay(t.Context(), root, t.TempDir(), planted...)
				if err != nil {
					t.Fatal(err)
				}
				o := goTest(t, r.Package, exactly(r.Test), append(slices.Clone(r.Flags), "-overlay="+overlay))
				if verdict := o.verdict(r.Caught); verdict != "" {
					t.Errorf("%s -run %s %v: %s\n%s", r.Package, r.Test, r.Flags, verdict, o.text)
				} else {
					t.Logf("%s -run %s: %.1f s, failed: %v", r.Package, r.Test, o.seconds, o.failed)
				}
			}
		})
	}
}

// TestWithoutPlantedBugs is the control: the same tests pass without a bug.
func TestWithoutPlantedBugs(t *testing.T) {
	patches, err := Load(root)
	if err != nil {
		t.Fatal(err)
	}
	type group struct{ pkg, flags string }
	tests := make(map[group][]string)
	for _, p := range patches {
		for _, r := range p.Runs {
			g := group{r.Package, strings.Join(r.Flags, " ")}
			if name := exactly(r.Test); !slices.Contains(tests[g], name) {
				tests[g] = append(tests[g], name)
			}
		}
	}
	for g, names := range tests {
		t.Run(strings.TrimSpace(g.pkg+" "+g.flags), func(t *testing.T) {
			t.Parallel()
			o := goTest(t, g.pkg, strings.Join(names, "|"), strings.Fields(g.flags))
			if verdict := o.verdict(false); verdict != "" {
				t.Errorf("%s\n%s", verdict, o.text)
			}
		})
	}
}

// exactly is the pattern of a test, or of a subtest.
func exactly(test string) string {
	return "^" + strings.Join(strings.Split(test, "/"), "$/^") + "$"
}

// outcome is what "go test" found.
type outcome struct {
	passed, failed []string // tests
	broken         string   // why the run says nothing: it was not built, panicked or took too long
	seconds        float64
	text           string
}

// limit bounds one run: a test that needs more than seconds does not catch a bug.
const limit = "120s"

func goTest(t *testing.T, pkg, pattern string, flags []string) (o outcome) {
	t.Helper()
	args := append([]string{"test", "-json", "-count=1", "-vet=off", "-failfast", "-timeout=" + limit, "-run", pattern, pkg}, flags...)
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = root
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, failure := cmd.Output()
	var text strings.Builder
	for d := json.NewDecoder(bytes.NewReader(out)); d.More(); {
		var e struct {
			Action, Test, Output string
			Elapsed              float64
		}
		if err := d.Decode(&e); err != nil {
			t.Fatalf("%v in %s", err, out)
		}
		text.WriteString(e.Output)
		switch {
		case e.Action == "build-fail":
			o.broken = "it does not compile"
		case strings.HasPrefix(e.Output, "panic: "), strings.HasPrefix(e.Output, "fatal error: "):
			o.broken = strings.TrimSpace(e.Output)
		case e.Action == "pass" && e.Test != "":
			o.passed = append(o.passed, e.Test)
		case e.Action == "fail" && e.Test != "":
			o.failed = append(o.failed, e.Test)
		case e.Test == "":
			o.seconds = max(o.seconds, e.Elapsed)
		}
	}
	o.text = text.String() + stderr.String()
	if failure != nil && len(o.failed) == 0 && o.broken == "" {
		o.broken = fmt.Sprint(failure)
	}
	return o
}

// verdict says what is wrong with an outcome, "" if nothing is.
func (o *outcome) verdict(caught bool) string {
	switch {
	case o.broken != "":
		return "it shows nothing: " + o.broken
	case len(o.passed)+len(o.failed) == 0:
		return "there is no such test"
	case caught && len(o.failed) == 0:
		return "the tests pass in spite of the bug"
	case !caught && len(o.failed) > 0:
		return "a test fails"
	}
	return ""
}
