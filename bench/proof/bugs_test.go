//go:build proof && linux

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/snowraft/snowraft/internal/build/mutant"
)

// TestBugIsCounted runs strict numbers of Snowraft through the faults, with and without a planted bug, and Redis. Duplicates of the bug are
// counted, those of a system without servers too, and recount.sh comes to the same numbers.
func TestBugIsCounted(t *testing.T) {
	dir := t.TempDir()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "proof")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Run("runs", func(t *testing.T) {
		for _, c := range []struct {
			name, system string
			bugs         []string
			twice        bool
		}{
			{"sound", "snowraft-strict", nil, false},
			{"bug", "snowraft-strict", []string{"granted-not-counted"}, true},
			{"library", "bwmarrin", nil, true},
			{"Redis", "redis", nil, true},
		} {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				members := build(t, root, c.bugs...)
				out := filepath.Join(dir, c.name)
				cmd := exec.CommandContext(t.Context(), program, "--root", root, "--out", out, "--only", c.system, "--snowraft", members)
				if text, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("%v: %s", err, text)
				}
				text, err := os.ReadFile(filepath.Join(out, "1", c.system+".json"))
				if err != nil {
					t.Fatal(err)
				}
				var got outcome
				if err := json.Unmarshal(text, &got); err != nil {
					t.Fatal(err)
				}
				t.Logf("%+v", got)
				if got.Calls < 10_000 || (got.Duplicates > 0) != c.twice {
					t.Errorf("%d duplicates in %d calls", got.Duplicates, got.Calls)
				}
				if text, err := exec.CommandContext(t.Context(), "sh", "recount.sh", filepath.Join(out, "1", c.system+".tsv")).CombinedOutput(); err != nil {
					t.Errorf("%v: %s", err, text)
				}
			})
		}
	})
}

// build builds the program with planted bugs and returns its path.
func build(t *testing.T, root string, bugs ...string) string {
	t.Helper()
	dir := t.TempDir()
	patches, err := mutant.Load(root)
	if err != nil {
		t.Fatal(err)
	}
	if patches, err = mutant.Named(patches, bugs...); err != nil {
		t.Fatal(err)
	}
	args := []string{"build", "-o", filepath.Join(dir, "snowraft")}
	if len(bugs) > 0 {
		overlay, err := mutant.Overlay(t.Context(), root, dir, patches...)
		if err != nil {
			t.Fatal(err)
		}
		args = append(args, "-overlay", overlay)
	}
	cmd := exec.CommandContext(t.Context(), "go", append(args, "./cmd/snowraft")...)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return filepath.Join(dir, "snowraft")
}
