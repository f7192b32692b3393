//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// played returns the lines of a crafted raw file of a library: the faults of a course, an application, and this many calls.
func played(s system, c course, calls int) []string {
	at := func(d time.Duration, who, sign, text string) string {
		return fmt.Sprintf("%d\t%s\t%s\t%s", d.Microseconds(), who, sign, text)
	}
	clock := func(d, offset time.Duration) string {
		return fmt.Sprint(1_700_000_000_000 + (d + offset).Milliseconds())
	}
	lines := []string{at(0, "app1", ">", ""), at(0, "app1", "@", clock(0, 0))}
	for i := range calls {
		lines = append(lines, at(0, "app1", "=", fmt.Sprint(i)))
	}
	for _, f := range c.faults {
		if s.alone && f.Kind.ofPrimary() {
			continue
		}
		lines = append(lines, at(f.At, harness, "(", f.String()))
		if f.Kind == setApp || f.Kind == hourApp {
			lines = append(lines, at(f.At, "app1", "@", clock(f.At, -f.Kind.back())))
		}
		lines = append(lines, at(f.At+f.For, harness, ")", string(f.Kind)))
	}
	return lines
}

// named returns a system by its name.
func named(t *testing.T, name string) system {
	t.Helper()
	all := systems(options{})
	i := slices.IndexFunc(all, func(s system) bool { return s.name == name })
	if i < 0 {
		t.Fatalf("no system %s", name)
	}
	return all[i]
}

// put writes the lines as the raw file of seed 1, and its outcome as a run would, whether it counts or not.
func put(t *testing.T, o options, s system, lines []string) outcome {
	t.Helper()
	path := o.raw(1, s)
	err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	one, _ := tally(path)
	one.Seed, one.Settings = 1, s.settings
	save(t, o, s, one)
	return one
}

// save writes an outcome of seed 1.
func save(t *testing.T, o options, s system, one outcome) {
	t.Helper()
	text, err := json.Marshal(one)
	if err == nil {
		err = os.WriteFile(o.outcome(1, s), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestDocumentRefusesCraftedRuns plants faults of a harness into a raw file that counts: the document refuses each.
func TestDocumentRefusesCraftedRuns(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"bwmarrin", "bwmarrin-hour"} {
		s := named(t, name)
		c := s.trial.course(1)
		whole := played(s, c, fewest)
		without := func(sign, part string) []string {
			return slices.DeleteFunc(slices.Clone(whole), func(line string) bool {
				return strings.Contains(line, "\t"+sign+"\t") && strings.Contains(line, part)
			})
		}
		for _, bug := range []struct {
			name  string
			lines []string
			want  string // a part of the error
		}{
			{"none", whole, ""},
			{"a fault was not applied", without("(", "restart an application, its clock"), "had other faults"},
			{"a fault was logged, and no clock went back", without("@", "app1\t@\t"), "no application had another clock"},
			{"the run was interrupted in a fault", whole[:len(whole)-1], "the run was interrupted"},
			{"the run was interrupted between faults", whole[:len(whole)-3], "other faults"},
			{"the applications hardly called", played(s, c, fewest-1), "9999 calls show nothing"},
		} {
			t.Run(name+"/"+bug.name, func(t *testing.T) {
				t.Parallel()
				o := options{out: t.TempDir()}
				put(t, o, s, bug.lines)
				rows, err := outcomes(o, io.Discard)
				if bug.want == "" {
					if err != nil || len(rows) != 1 || len(rows[0].runs) != 1 {
						t.Errorf("%d rows: %v", len(rows), err)
					}
				} else if err == nil || !strings.Contains(err.Error(), bug.want) {
					t.Errorf("got the error %v, want %q", err, bug.want)
				}
			})
		}
	}
}

// TestDocumentRefusesOutcomesThatDiffer has outcomes that their raw files do not come to.
func TestDocumentRefusesOutcomesThatDiffer(t *testing.T) {
	t.Parallel()
	s := named(t, "bwmarrin")
	for _, c := range []struct {
		name   string
		change func(*outcome)
		want   string
	}{
		{"duplicates", func(o *outcome) { o.Duplicates++ }, "comes to other numbers"},
		{"interruption", func(o *outcome) { o.Longest++ }, "comes to other numbers"},
		{"settings", func(o *outcome) { o.Settings = "others" }, "ran with other settings"},
		{"seed", func(o *outcome) { o.Seed = 2 }, "is of seed 2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			o := options{out: t.TempDir()}
			one := put(t, o, s, played(s, s.trial.course(1), fewest))
			c.change(&one)
			save(t, o, s, one)
			if _, err := outcomes(o, io.Discard); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got the error %v, want %q", err, c.want)
			}
		})
	}
}

// TestOnlyMissingRunsAreStarted has a run of the first of two seeds. It is missing once its version, settings or faults are others.
func TestOnlyMissingRunsAreStarted(t *testing.T) {
	t.Parallel()
	s := named(t, "bwmarrin")
	s.version = func(context.Context) (string, error) { return "v1", nil }
	for _, c := range []struct {
		name   string
		change func(*outcome)
		want   []uint64
	}{
		{"whole", func(*outcome) {}, []uint64{2}},
		{"another version", func(o *outcome) { o.Version = "v0" }, []uint64{1, 2}},
		{"other settings", func(o *outcome) { o.Settings = "others" }, []uint64{1, 2}},
		{"other faults", func(o *outcome) { o.Faults = o.Faults[1:] }, []uint64{1, 2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			o := options{out: t.TempDir(), seeds: []uint64{1, 2}}
			one := put(t, o, s, played(s, s.trial.course(1), fewest))
			one.Version = "v1"
			c.change(&one)
			save(t, o, s, one)
			jobs, err := missing(t.Context(), o, []system{s}, io.Discard)
			if err != nil {
				t.Fatal(err)
			}
			var got []uint64
			for _, j := range jobs {
				got = append(got, j.seed)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("seeds %v are missing, want %v", got, c.want)
			}
		})
	}
}

func TestSeeds(t *testing.T) {
	t.Parallel()
	if got, err := parseSeeds("9-11"); err != nil || !slices.Equal(got, []uint64{9, 10, 11}) {
		t.Errorf("%v: %v", got, err)
	}
	for _, text := range []string{"", "-", "1-", "3-2", "1-1001", "x"} {
		if got, err := parseSeeds(text); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}
