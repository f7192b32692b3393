package mutant

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const root = "../../.."

// TestPatchesApply holds the patches to the sources, so that whoever changes a line that a patch changes
// refreshes the patch. That each compiles and is caught takes "make mutants".
func TestPatchesApply(t *testing.T) {
	patches, err := Load(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(patches) == 0 {
		t.Fatal("there are no planted bugs")
	}
	for i, p := range patches {
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			if i > 0 && patches[i-1].Name == p.Name {
				t.Errorf("%s and %s have the same name", patches[i-1].File, p.File)
			}
			if _, err := Overlay(t.Context(), root, t.TempDir(), p); err != nil {
				t.Error(err)
			}
			for _, r := range p.Runs {
				if r.With != "" {
					others, err := Named(patches, r.With)
					if err != nil {
						t.Fatal(err)
					}
					if _, err := Overlay(t.Context(), root, t.TempDir(), p, others[0]); err != nil {
						t.Errorf("with %s: %v", r.With, err)
					}
				}
				name, _, _ := strings.Cut(r.Test, "/")
				if r.File != "" {
					name := caseOf.ReplaceAllString(r.Test, "")
					if raw, err := os.ReadFile(filepath.Join(root, r.File)); err != nil || !strings.Contains(string(raw), name) {
						t.Errorf("%s: there is no %s in %s: %v", p.File, name, r.File, err)
					}
				} else if !slices.Contains(tests(t, r.Package), name) {
					t.Errorf("%s: there is no %s in %s", p.File, name, r.Package)
				}
			}
		})
	}
}

// TestOtherPatchesApply does the same for the patches of other versions, whose packages build on this one.
func TestOtherPatchesApply(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"internal/test/nextversion/next.patch", "internal/test/earlierversion/earlier.patch"} {
		p, err := Read(root, path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Overlay(t.Context(), root, t.TempDir(), p); err != nil {
			t.Error(err)
		}
	}
}

// caseOf is the end of the name of a client's test that has several cases.
var caseOf = regexp.MustCompile(`(\[|: ).*$`)

var testFunc = regexp.MustCompile(`(?m)^func (Test\w+)\(`)

// tests lists the tests of a package.
func tests(t *testing.T, pkg string) (names []string) {
	files, err := filepath.Glob(filepath.Join(root, pkg, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range testFunc.FindAllStringSubmatch(string(raw), -1) {
			names = append(names, m[1])
		}
	}
	return names
}

func TestParse(t *testing.T) {
	const diff = "\ndiff --git a/fsm/x.go b/fsm/x.go\n--- a/fsm/x.go\n+++ b/fsm/x.go\n@@ -1 +1 @@\n-a\n+b\n"
	for _, c := range []struct {
		name, text string
		runs       int // 0 if it is refused
	}{
		{"one", "A rule.\n\nCaught by: go test ./fsm -run TestA\n" + diff, 1},
		{"more", "A rule\nof two lines.\n\nCaught with other-bug by: go test ./fsm -run TestA/b -fsm.depth=5\nNot caught by: go test ./fsm -run TestB\n" + diff, 2},
		{"no rule", "Caught by: go test ./fsm -run TestA\n" + diff, 0},
		{"no run", "A rule.\n" + diff, 0},
		{"no run that fails", "A rule.\n\nNot caught by: go test ./fsm -run TestA\n" + diff, 0},
		{"another command", "A rule.\n\nCaught by: make test\n" + diff, 0},
		{"no diff", "A rule.\n\nCaught by: go test ./fsm -run TestA\n", 0},
		{"a client's", "A rule.\n\nCaught by: clients/java/client/src/test/java/ATest.java aTest\nNot caught by: clients/python/tests/test_a.py test_a\n" + diff, 2},
		{"a file of no client", "A rule.\n\nCaught by: fsm/x.py test_a\n" + diff, 0},
		{"a patched test of a client", "A rule.\n\nCaught by: go test ./fsm -run TestA\n" + strings.ReplaceAll(diff, "fsm/x.go", "clients/python/tests/x.py"), 0},
		{"a patched test", "A rule.\n\nCaught by: go test ./fsm -run TestA\n" + strings.ReplaceAll(diff, "x.go", "x_test.go"), 0},
	} {
		p, err := parse("fsm/testdata/mutants/a-bug.patch", c.text)
		if (err == nil) != (c.runs > 0) || err == nil && (len(p.Runs) != c.runs || p.Name != "a-bug" || !slices.Equal(p.Files, []string{"fsm/x.go"})) {
			t.Errorf("%s: %+v, %v", c.name, p, err)
		}
	}
}
