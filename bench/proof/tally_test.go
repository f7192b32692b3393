package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// write writes a raw file and returns its path.
func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "raw.tsv")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// raw is a run in which 7 comes three times and 8 twice.
const raw = "0\ta\t>\t\n" +
	"1000000\ta\t=\t7\n" +
	"2000000\tb\t>\t\n" +
	"2500000\tb\t=\t7\n" +
	"3000000\t-\t(\tpause an application for 5s\n" +
	"3000000\ta\t(\t\n" +
	"3500000\tb\t!\ttimeout\n" +
	"4000000\tb\t=\t8\n" +
	"9000000\ta\t)\t\n" +
	"9000000\t-\t)\tpause an application\n" +
	"9500000\ta\t=\t7\n" +
	"9600000\tb\tx\t\n" +
	"9700000\tb\t>\t\n" +
	"9800000\tb\t=\t8\n"

func TestTally(t *testing.T) {
	t.Parallel()
	got, err := tally(write(t, raw))
	if err != nil {
		t.Fatal(err)
	}
	// b got nothing from 4.0 s to its end at 9.6 s. The pause of a does not count.
	if got.Calls != 6 || got.Failed != 1 || got.Duplicates != 3 || got.Longest != 5600*time.Millisecond {
		t.Errorf("got %+v", got)
	}
	if want := []string{"pause an application for 5s"}; !slices.Equal(got.Faults, want) {
		t.Errorf("faults %q, want %q", got.Faults, want)
	}
	if want := "7 by b at 2.5 s"; got.FirstTwice != want {
		t.Errorf("first duplicate %q, want %q", got.FirstTwice, want)
	}
}

func TestTallyOfStrangeFiles(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"x\n", "1\ta\t?\t\n", "one\ta\t=\t1\n", "1\ta\t==\t1\n"} {
		if _, err := tally(write(t, text)); err == nil {
			t.Errorf("%q was counted", text)
		}
	}
}

func TestRecountAgrees(t *testing.T) {
	t.Parallel()
	path := write(t, raw)
	recount := func(duplicates string) ([]byte, error) {
		outcome := filepath.Join(filepath.Dir(path), "raw.json")
		if err := os.WriteFile(outcome, []byte("{\n  \"duplicates\": "+duplicates+",\n}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return exec.CommandContext(t.Context(), "sh", "recount.sh", path).CombinedOutput()
	}
	if out, err := recount("3"); err != nil || string(out) != path+": 3 duplicates\n" {
		t.Errorf("%v: %s", err, out)
	}
	if out, err := recount("2"); err == nil {
		t.Errorf("another count passed: %s", out)
	}
}

// TestRecountFindsItsOwnBugs plants bugs into recount.sh: each comes to other counts of two crafted raw files, or does not complain about a
// wrong outcome.
func TestRecountFindsItsOwnBugs(t *testing.T) {
	t.Parallel()
	sound, err := os.ReadFile("recount.sh")
	if err != nil {
		t.Fatal(err)
	}
	first, last := write(t, raw), write(t, raw+"9900000\ta\t=\t7\n9910000\ta\t!\ttimeout\n")
	for path, n := range map[string]string{first: "3", last: "5"} { // the outcome of the last says one too many
		if err := os.WriteFile(filepath.Join(filepath.Dir(path), "raw.json"), []byte("{\n  \"duplicates\": "+n+",\n}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want := first + ": 3 duplicates\n" + last + ": 4 duplicates\n"
	for _, bug := range []struct{ name, from, to string }{
		{"none", "", ""},
		{"the last file is left out", "for raw; do\n", "for raw; do\n[ $# -gt 1 ] || continue; shift\n"},
		{"only repeats by one application count", "{ print $4 }", "{ print $2, $4 }"},
		{"failed calls count", `$3 == "="`, `$3 == "=" || $3 == "!"`},
		{"a number that comes n times counts once", "n += $1 - 1", "n += $1 > 1"},
		{"only neighbours are compared", "LC_ALL=C sort |", ""},
		{"a wrong outcome passes", "status=1", "status=0"},
	} {
		t.Run(bug.name, func(t *testing.T) {
			t.Parallel()
			if !strings.Contains(string(sound), bug.from) {
				t.Fatalf("recount.sh has no %q", bug.from)
			}
			script := write(t, strings.Replace(string(sound), bug.from, bug.to, 1))
			out, err := exec.CommandContext(t.Context(), "sh", script, first, last).Output()
			if passes := err != nil && string(out) == want; passes != (bug.name == "none") {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}

func TestPlansHaveAllKinds(t *testing.T) {
	t.Parallel()
	for seed := range uint64(100) {
		var found []kind
		for i, f := range plan(seed).faults {
			found = append(found, f.Kind)
			if f.At != calm+time.Duration(i)*slot || f.For < least || f.For >= most || f.App < 0 || f.App >= apps {
				t.Fatalf("seed %d: unexpected fault %+v", seed, f)
			}
			if f.At < f.Kind.back() {
				t.Errorf("seed %d: a clock would go back to before the run", seed)
			}
		}
		slices.Sort(found)
		if want := slices.Sorted(slices.Values(kinds)); !slices.Equal(found, want) {
			t.Errorf("seed %d: faults %q", seed, found)
		}
	}
}

func TestSample(t *testing.T) {
	t.Parallel()
	got, err := sample(write(t, raw), 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range map[int]column{2: {1, false}, 3: {}, 5: {1, true}, 8: {1, false}, 19: {2, true}} {
		if got[i] != want {
			t.Errorf("column %d is %+v, want %+v", i, got[i], want)
		}
	}
}
