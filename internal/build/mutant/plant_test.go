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
	clients := newClients(t)
	planted := 0
	for _, p := range selected {
		t.Run(p.Name, func(t *testing.T) {
			planted++ // -test.run selects it too
			client := clientOf(clients, p)
			if client != nil {
				client.planted = append(client.planted, p)
			} else {
				w.planted = append(w.planted, p)
			}
			t.Parallel()
			for _, r := range p.Runs {
				var o outcome
				if client != nil {
					o = client.execute(t, []Run{r}, p)
				} else {
					o = w.program(t, p, r).execute(t, r.Package, exactly(r.Test), r.Flags, p.Name)
				}
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
		for _, c := range clients {
			if len(c.planted) > 0 {
				t.Run(c.dir, c.withoutBugs)
			}
		}
	})
	t.Cleanup(func() {
		_, _ = fmt.Fprintf(os.Stdout, "%d of %d planted bugs selected, %d builds, %v\n",
			planted, len(patches), w.builds, time.Since(begun).Round(time.Second))
	})
}

// withoutBugs runs the same tests in the programs that have many bugs, where they pass: none is chosen. It leaves out the
// flags, because they only say how far a search goes until it meets a bug.
func withoutBugs(t *testing.T, w *workshop) {
	patterns := make(map[string][]string)
	for _, p := range w.planted {
		for _, r := range p.Runs {
			if name := exactly(r.Test); !slices.Contains(patterns[r.Package], name) {
				patterns[r.Package] = append(patterns[r.Package], name)
			}
		}
	}
	for pkg, names := range patterns {
		t.Run(pkg, func(t *testing.T) {
			t.Parallel()
			o := w.control(t, pkg).execute(t, pkg, strings.Join(names, "|"), nil, "")
			if fault := o.fault(false); fault != "" {
				t.Errorf("%s\n%s", fault, o.text)
			} else {
				t.Logf("%v of a processor", o.took.Round(100*time.Millisecond))
			}
		})
	}
}

// exactly is the pattern of a test, or of a subtest.
func exactly(test string) string {
	return "^" + strings.Join(strings.Split(test, "/"), "$/^") + "$"
}
