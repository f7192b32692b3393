//go:build mutants

package mutant

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

var selection = NewSelection(flag.CommandLine)

// TestPlantedBugsAreCaught runs tests with each bug planted, and checks that they fail, or pass, as the patch says. Its
// subtest "none" is the control.
func TestPlantedBugsAreCaught(t *testing.T) {
	begun := time.Now()
	patches, err := Load(root)
	if err != nil {
		t.Fatal(err)
	}
	selected, err := selection.Of(t.Context(), root, patches)
	if err != nil {
		t.Fatal(err)
	}
	w := newWorkshop(t, patches)
	for _, p := range selected {
		t.Run(p.Name, func(t *testing.T) {
			w.planted = append(w.planted, p) // -test.run selects it too
			t.Parallel()
			for _, r := range p.Runs {
				o := w.program(t, p, r).execute(t, r.Package, exactly(r.Test), r.Flags, p.Name)
				if fault := o.fault(r.Caught); fault != "" {
					t.Errorf("%s -run %s %v: %s\n%s", r.Package, r.Test, r.Flags, fault, o.text)
				} else {
					t.Logf("%s -run %s: %v of a processor, failed: %v", r.Package, r.Test, o.took.Round(100*time.Millisecond), o.failed)
				}
			}
		})
	}
	t.Run("none", func(t *testing.T) {
		t.Parallel()
		withoutBugs(t, w)
	})
	t.Cleanup(func() {
		_, _ = fmt.Fprintf(os.Stdout, "%d of %d planted bugs selected, %d builds, %v\n",
			len(w.planted), len(patches), w.builds, time.Since(begun).Round(time.Second))
	})
}

// withoutBugs runs the same tests with the same flags in the programs that have many bugs, where they pass: none is
// chosen.
func withoutBugs(t *testing.T, w *workshop) {
	runs := make(map[string]map[string][]string) // package, flags, patterns
	for _, p := range w.planted {
		for _, r := range p.Runs {
			flags := strings.Join(r.Flags, " ")
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
			for flags, patterns := range byFlags {
				o := w.control(t, pkg).execute(t, pkg, strings.Join(patterns, "|"), strings.Fields(flags), "")
				if fault := o.fault(false); fault != "" {
					t.Errorf("%s %s\n%s", flags, fault, o.text)
				} else {
					t.Logf("%q: %v of a processor", flags, o.took.Round(100*time.Millisecond))
				}
			}
		})
	}
}

// exactly is the pattern of a test, or of a subtest.
func exactly(test string) string {
	return "^" + strings.Join(strings.Split(test, "/"), "$/^") + "$"
}
