package report_test

import (
	"flag"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/snowraft/snowraft/jepsen/check"
	"github.com/snowraft/snowraft/jepsen/history"
)

var update = flag.Bool("update", false, "update the golden files")

// golden compares got with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; to accept the difference, run go test ./jepsen/report -update\ngot:\n%s\nwant:\n%s", path, got, want)
	}
}

const (
	// zero is the start of the hand-made run on the history's clock.
	zero = int64(1000 * time.Second)
	// wall is the start of the run on the wall clock, Unix ns.
	wall = int64(1800000000 * time.Second)

	hostile = `</title></script><script>alert("x")</script><img src=x onerror=alert(1)>` + "\x1b[31m"
)

// at returns a moment of the run on the history's clock.
func at(d time.Duration) int64 { return zero + int64(d) }

// written writes a run's directory with lines of history and opens it.
func written(t *testing.T, lines ...history.Line) *check.Run {
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
	r, err := check.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func header() history.Line {
	return history.Line{Run: &history.Run{
		Seed: 7, Members: []string{"n1", "n2", "n3"}, Workloads: []string{"ids", "strict"}, Nemeses: []string{"kill", "isolate", "bump"},
		Binary: `{"version":"v1.2.3","commit":"abc","go":"go1.26","platform":"linux/amd64"}`, WallNanos: wall, At: zero,
	}}
}

func op(workload, do string, outcome history.Outcome, reason string, returned, took time.Duration) history.Line {
	return history.Line{Op: &history.Op{
		ID: 1, Workload: workload, Do: do, Outcome: outcome, Reason: reason, Count: 3, Call: at(returned - took), Return: at(returned),
	}}
}

func process(start uint32, member string, moment time.Duration, exit string) history.Line {
	return history.Line{Process: &history.Process{Start: start, Member: member, At: at(moment), Ended: exit != "", Exit: exit}}
}

func fault(event int, name, family string, from, to time.Duration, change func(*history.Fault)) []history.Line {
	begin := history.Fault{Event: event, Name: name, Family: family, At: at(from), Hosts: []string{"n1"}}
	if change != nil {
		change(&begin)
	}
	end := begin
	end.At, end.Ended = at(to), true
	if to == math.MaxInt64 {
		return []history.Line{{Fault: &begin}}
	}
	return []history.Line{{Fault: &begin}, {Fault: &end}}
}

func status(member, leader string, term uint64, moment time.Duration, change func(*history.Status)) history.Line {
	s := history.Status{
		Member: member, MemberID: "id-" + member, LeaderID: "id-" + leader, Term: term, Call: at(moment), Return: at(moment + 2*time.Millisecond),
		WallNanos: wall + int64(moment+2*time.Millisecond), ClockMillis: (wall + int64(moment+time.Millisecond)) / 1e6,
	}
	if change != nil {
		change(&s)
	}
	return history.Line{Status: &s}
}

// handMade returns a run with at least one event of each kind.
func handMade(t *testing.T) *check.Run {
	t.Helper()
	lines := []history.Line{
		header(),
		process(1, "n1", 0, ""), process(2, "n2", 0, ""), process(3, "n3", 0, ""),
		{Phase: &history.Phase{Name: history.PhaseLoad, At: at(2 * time.Second)}},
		{Phase: &history.Phase{Name: history.PhaseFaults, At: at(5 * time.Second)}},
		process(1, "n1", 6*time.Second, "signal: killed"), process(4, "n1", 8*time.Second, ""),
		{Phase: &history.Phase{Name: history.PhaseHealed, At: at(15 * time.Second)}},
		{Phase: &history.Phase{Name: history.PhaseEnd, At: at(20 * time.Second)}},
		{Note: &history.Note{At: at(9 * time.Second), Member: "n1", What: "log-damaged", Detail: hostile}},
		{Note: &history.Note{At: at(9 * time.Second), Member: "n2", What: "log-damaged"}},
	}
	lines = append(lines, fault(0, "kill", "process", 6*time.Second, 8*time.Second, nil)...)
	lines = append(lines, fault(1, "isolate", "network", 7*time.Second, 9*time.Second, func(f *history.Fault) { f.Detail = "drop, both ways" })...)
	lines = append(lines, fault(2, "bump", "clock", 10*time.Second, 12*time.Second, func(f *history.Fault) { f.OffsetNanos = int64(-time.Hour) })...)
	lines = append(lines, fault(3, "full", "disk", 13*time.Second, math.MaxInt64, func(f *history.Fault) { f.Failed = "no space for the ballast" })...)
	lines = append(lines, fault(4, hostile, hostile, 14*time.Second, 14*time.Second, nil)...)
	lines = append(lines, fault(5, "pause", "process", 14*time.Second, 15*time.Second, func(f *history.Fault) { f.Hosts = []string{"n2", "n3"} })...)
	for s := time.Second; s < 20*time.Second; s += 500 * time.Millisecond {
		leader, term := "n1", uint64(2)
		if s > 6*time.Second {
			leader, term = "n2", 4
		}
		for _, member := range []string{"n1", "n2", "n3"} {
			if member == "n1" && s >= 6*time.Second && s < 8*time.Second {
				continue
			}
			lines = append(lines, status(member, leader, term, s, func(st *history.Status) {
				if member == "n1" && s >= 10*time.Second && s < 12*time.Second {
					st.ClockMillis -= time.Hour.Milliseconds()
					st.Problem = "CLOCK_BEHIND: the clock is behind <by 1h>"
				}
			}))
		}
	}
	for s := 2 * time.Second; s < 20*time.Second; s += 100 * time.Millisecond {
		lines = append(lines, op("ids", history.DoIDs, history.OK, "", s, time.Millisecond))
	}
	lines = append(lines,
		op("strict", history.DoNext, history.OK, "", 3*time.Second, 100*time.Millisecond),
		op("strict", history.DoNext, history.Fail, "NO_LEADER", 7*time.Second, time.Millisecond),
		op("strict", history.DoNext, history.Info, hostile, 8*time.Second, 2*time.Second),
	)
	return written(t, lines...)
}

// verdicts returns one verdict of each outcome.
func verdicts() []check.Verdict {
	return []check.Verdict{
		{Checker: "containment", Outcome: check.Pass, Summary: "All 540 IDs lie in windows.", Facts: map[string]int64{"ids": 540, "failures": 0}},
		{
			Checker: "uniqueness", Outcome: check.Fail, Summary: "1 ID of 12 345 was issued twice.", Facts: map[string]int64{"ids": 12345, "failures": 3},
			Failures: []string{"ID 249908492037525515 was issued by operation 789 of client 4 (member n3, start 3) and by operation 1203 of client 6, 182 ms apart", hostile},
		},
		{Checker: "vacuity", Outcome: check.Invalid, Summary: "1 floor isn't reached.", Failures: []string{"snapshots installed: 0, at least 1 is needed"}},
	}
}
