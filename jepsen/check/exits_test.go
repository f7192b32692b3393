package check

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/snowraft/snowraft/jepsen/history"
)

func TestExits(t *testing.T) {
	t.Parallel()
	for exit, want := range map[string]Outcome{
		"exit status 0":                   Pass,
		"exit status 1":                   Pass,
		"exit status 10":                  Pass, // removed
		"signal: killed":                  Pass,
		"exit status 2":                   Fail, // a panic
		"signal: bus error (core dumped)": Fail,
		"signal: segmentation fault":      Fail,
		"waitid: something that was never seen until now": Fail,
	} {
		r, err := Open(journal(t,
			history.Line{Run: &history.Run{Seed: 7, Members: []string{"n2"}}},
			history.Line{Process: &history.Process{Start: 1, Member: "n1", At: 4}},
			history.Line{Process: &history.Process{Start: 1, Member: "n1", At: 9, Ended: true, Exit: exit}},
			history.Line{Process: &history.Process{Start: 2, Member: "n1", At: 10}},
		))
		if err != nil {
			t.Fatal(err)
		}
		if v := Exits(r); v.Outcome != want || v.Facts["ended"] != 1 {
			t.Errorf("exit %q: %+v, want %s and one exit", exit, v, want)
		}
	}
}

func TestExitsOfFounders(t *testing.T) {
	t.Parallel()
	fault := func(family, host string, from, to int64) []history.Line {
		begun := history.Fault{Name: "x", Family: family, Hosts: []string{host}, At: from * second}
		ended := begun
		ended.At, ended.Ended = to*second, true
		return []history.Line{{Fault: &begun}, {Fault: &ended}}
	}
	// stalls returns readings, between which the machine kept n1 from a processor for some milliseconds.
	stalls := func(at, ms int64) []history.Line {
		reading := func(at, waited int64) history.Status {
			return changed(status(at*second, 0), func(s *history.Status) { s.RanNanos, s.WaitedNanos = 50*millisecond, waited*millisecond })
		}
		return statuses(reading(at-4, 0), reading(at, ms))
	}
	for _, c := range []struct {
		name    string
		exit    string
		faults  []history.Line
		outcome Outcome
		log     string
	}{
		{"without a reason", exitRefused, nil, Fail, "snowraft: no"},
		{"removed without a reason", exitRemoved, nil, Fail, "snowraft: no"},
		{"removed with its disk wiped", exitRemoved, fault("disk", "n1", 100, 200), Pass, "snowraft: no"},
		{"gracefully", "exit status 0", nil, Pass, "snowraft: no"},
		{"killed", exitKilled, nil, Pass, "snowraft: no"},
		{"for its disk", exitRefused, fault("disk", "n1", 100, 200), Pass, "snowraft: no"},
		{"soon after its disk failed", exitRefused, fault("disk", "n1", 130, 145), Pass, "snowraft: no"},
		{"long after its disk failed", exitRefused, fault("disk", "n1", 100, 130), Fail, "snowraft: no"},
		{"before its disk failed", exitRefused, fault("disk", "n1", 160, 170), Fail, "snowraft: no"},
		{"for the disk of another member", exitRefused, fault("disk", "n2", 100, 200), Fail, "snowraft: no"},
		{"for its clock", exitRefused, fault("clock", "n1", 100, 200), Fail, "snowraft: no"},
		{"stuck in a transfer", exitRefused, nil, Pass, "snowraft: a failed leadership transfer blocks Raft, member halted"},
		{"slow to stop", exitRefused, nil, Fail, "snowraft: the shutdown was not complete after 10s"},
		{"slow to stop on a busy machine", exitRefused, stalls(145, 2000), Pass, "snowraft: the shutdown was not complete after 10s"},
		{"halted on a busy machine", exitRefused, stalls(145, 2000), Fail, "snowraft: no"},
		{"slow to stop, and the machine was busy before", exitRefused, stalls(130, 2000), Fail, "snowraft: the shutdown was not complete after 10s"},
		{"without a log", exitRefused, nil, Invalid, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			scene := newScene(process(1, "n1", 50*second))
			scene.add(history.Line{Process: &history.Process{Start: 1, Member: "n1", At: 150 * second, Ended: true, Exit: c.exit}})
			scene.add(c.faults...)
			r := scene.open(t)
			if c.log != "" {
				if err := errors.Join(os.Mkdir(filepath.Join(r.Dir, "logs"), 0o700), os.WriteFile(filepath.Join(r.Dir, "logs", "n1.1.log"), []byte(c.log), 0o600)); err != nil {
					t.Fatal(err)
				}
			}
			wants(t, Exits(r), c.outcome)
		})
	}
}
