package check

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/snowraft/snowraft/jepsen/history"
)

// journal writes lines into a new run directory and returns its path.
func journal(t *testing.T, lines ...history.Line) string {
	t.Helper()
	dir := t.TempDir()
	j, err := history.Create(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range lines {
		j.Add(l)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestOpen(t *testing.T) {
	t.Parallel()
	r, err := Open(journal(t,
		history.Line{Run: &history.Run{Seed: 7, Members: []string{"n1"}}},
		history.Line{Layout: &history.Layout{Name: "l", Fields: []history.Field{{Kind: "time", Bits: 40}, {Kind: "worker", Bits: 4}}, UnitMillis: 1}},
		history.Line{Process: &history.Process{Start: 2, Member: "g", Generator: true, At: 5}},
		history.Line{Process: &history.Process{Start: 1, Member: "n1", At: 4}},
		history.Line{Process: &history.Process{Start: 1, Member: "n1", At: 9, Ended: true, Exit: "killed"}},
		history.Line{Fault: &history.Fault{Event: 0, Name: "isolate", Family: "network", At: 10, Hosts: []string{"n1"}}},
		history.Line{Fault: &history.Fault{Event: 1, Name: "kill", Family: "process", At: 11}},
		history.Line{Fault: &history.Fault{Event: 1, Name: "kill", Family: "process", At: 12, Ended: true, Hosts: []string{"n2"}, Failed: "no"}},
		history.Line{Fault: &history.Fault{Event: 2, Name: "kill", Family: "process", At: 13, Ended: true}},
		history.Line{Status: &history.Status{Member: "n1", Commit: 3}},
		history.Line{Phase: &history.Phase{Name: history.PhaseEnd, At: 14}},
		history.Line{Note: &history.Note{What: "harvested"}},
		history.Line{Op: &history.Op{ID: 1}},
		history.Line{Op: &history.Op{ID: 2}},
	))
	if err != nil {
		t.Fatal(err)
	}
	if r.Header.Seed != 7 || r.Layouts["l"].Workers() != 16 || r.Phases[history.PhaseEnd] != 14 || len(r.Statuses) != 1 || len(r.Notes) != 1 {
		t.Errorf("Open() = %+v, want seed 7, 16 workers, an end at 14, one status and one note", r)
	}
	if want := []ProcessSpan{{Start: 1, Member: "n1", From: 4, To: 9, Exit: "killed"}, {Start: 2, Member: "g", Generator: true, From: 5, To: math.MaxInt64}}; !slices.Equal(r.Processes, want) {
		t.Errorf("Processes = %+v, want %+v", r.Processes, want)
	}
	if p, ok := r.Process(2); !ok || p.Member != "g" {
		t.Errorf("Process(2) = %+v, %t, want member g", p, ok)
	}
	if p, ok := r.Process(3); ok {
		t.Errorf("Process(3) = %+v, want none", p)
	}
	if len(r.Faults) != 3 || r.Faults[0].To != math.MaxInt64 || r.Faults[1].To != 12 || r.Faults[1].Failed != "no" ||
		!slices.Equal(r.Faults[1].Hosts, []string{"n2"}) || r.Faults[2].From != 13 || r.Faults[2].To != 13 {
		t.Errorf("Faults = %+v, want one open, one ended at 12 on n2, and one at 13", r.Faults)
	}
	var ids []uint64
	for op, err := range r.Ops() {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, op.ID)
	}
	if !slices.Equal(ids, []uint64{1, 2}) {
		t.Errorf("Ops() yields operations %v, want 1 and 2", ids)
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	header := history.Line{Run: &history.Run{}}
	start := history.Line{Process: &history.Process{Start: 1, Member: "n1"}}
	for name, lines := range map[string][]history.Line{
		"no header":               {start},
		"two headers":             {header, header},
		"a start twice":           {header, start, start},
		"an end without a start":  {header, {Process: &history.Process{Start: 1, Ended: true}}},
		"start 0":                 {header, {Process: &history.Process{}}},
		"a layout without fields": {header, {Layout: &history.Layout{Name: "l", UnitMillis: 1}}},
		"a layout of a bad field": {header, {Layout: &history.Layout{Name: "l", Fields: []history.Field{{Kind: "x", Bits: 1}}, UnitMillis: 1}}},
		"a field of 257 bits":     {header, {Layout: &history.Layout{Name: "l", Fields: []history.Field{{Kind: "time", Bits: 257}}, UnitMillis: 1}}},
	} {
		if r, err := Open(journal(t, lines...)); err == nil {
			t.Errorf("%s: Open() = %+v, want error", name, r)
		}
	}
	if _, err := Open(t.TempDir()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Open() = %v for an empty directory, want %v", err, os.ErrNotExist)
	}
	dir := journal(t, header)
	if err := os.WriteFile(filepath.Join(dir, "history.jsonl"), []byte("{\"run\":{}}\nx\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir); err == nil {
		t.Error("Open() accepted a line that is not JSON, want error")
	}
}

func TestVerdictLimitsListedFailures(t *testing.T) {
	t.Parallel()
	v := newVerdict("x")
	v.invalid("a gap")
	if v.Outcome != Invalid {
		t.Errorf("after invalid: %+v, want %s", v, Invalid)
	}
	for range 100 {
		v.fail("wrong")
	}
	v.invalid("another gap")
	if v.Outcome != Fail || len(v.Failures) != maxFailures || v.Facts[factFailures] != 100 {
		t.Errorf("after 100 failures: %+v, want %s with %d listed failures", v, Fail, maxFailures)
	}
}
