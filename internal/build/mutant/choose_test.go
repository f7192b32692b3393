package mutant

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/snowraft/snowraft/internal/test/eighth"
)

// TestSince changes one file at a time of a repository with two bugs.
func TestSince(t *testing.T) {
	t.Parallel()
	patches := []Patch{
		{Name: "a", File: "a/testdata/mutants/a.patch", Files: []string{"a/a.go", "lib/lib.go"}, Runs: []Run{{Package: "./a"}, {Package: "./sim"}}},
		{Name: "b", File: "b/testdata/mutants/b.patch", Files: []string{"b/b.go"}, Runs: []Run{{Package: "./b"}}},
	}
	for file, want := range map[string]string{
		"a/testdata/mutants/a.patch":       "a",
		"a/other.go":                       "a",
		"lib/lib.go":                       "a",
		"sim/sim_test.go":                  "a",
		"lib/deeper/x.go":                  "",
		"b/new.go":                         "b",
		"README.md":                        "",
		"internal/build/mutant/combine.go": "ab",
	} {
		dir := t.TempDir()
		git := func(args ...string) {
			cmd := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=x", "-c", "user.email=x"}, args...)...)
			cmd.Dir = dir
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("git %v: %v: %s", args, err, out)
			}
		}
		git("init", "--quiet")
		write := func(file, text string) {
			to := filepath.Join(dir, file)
			if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(to, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if file != "b/new.go" { // the untracked one
			write(file, "before")
		}
		git("add", ".")
		git("commit", "--quiet", "--allow-empty", "--message", "before")
		if found := Since(t.Context(), dir, "HEAD", patches); len(found) != 0 {
			t.Errorf("nothing differs: %v", found)
		}
		write(file, "after")
		var names []string
		for _, p := range Since(t.Context(), dir, "HEAD", patches) {
			names = append(names, p.Name)
		}
		if got := strings.Join(names, ""); got != want {
			t.Errorf("%s differs: %q, want %q", file, got, want)
		}
		if found := Since(t.Context(), dir, "unknown", patches); len(found) != len(patches) {
			t.Errorf("unknown commit: %v", found)
		}
	}
}

// TestSlicesHaveAllBugs selects slice after slice.
func TestSlicesHaveAllBugs(t *testing.T) {
	t.Parallel()
	patches, err := Load(root)
	if err != nil {
		t.Fatal(err)
	}
	all := 0
	for slice := range eighth.Slices + 1 {
		selected, err := (&Selection{slice: slice}).Of(t.Context(), root, patches)
		switch {
		case err != nil:
			t.Fatal(err)
		case slice == 0 && len(selected) != len(patches):
			t.Errorf("%d bugs of %d without flags", len(selected), len(patches))
		case slice > 0 && len(selected) == 0:
			t.Errorf("slice %d is empty", slice)
		case slice > 0:
			all += len(selected)
		}
	}
	if all != len(patches) {
		t.Errorf("%d bugs of %d in the slices", all, len(patches))
	}
	if _, err := (&Selection{slice: eighth.Slices + 1}).Of(t.Context(), root, patches); err == nil {
		t.Error("there is another slice")
	}
}
