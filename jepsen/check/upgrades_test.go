package check

import (
	"testing"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"

	"github.com/snowraft/snowraft/jepsen/history"
)

// mixedWorld is a run in which n1 leads with the earlier program, n2 changes its program, and the version rises to 2.
func mixedWorld(t *testing.T, raise, swap bool, finalized ...history.Fault) *world {
	w := newWorld(t)
	start := func(start uint32, member, binary string, at int64) {
		w.line(history.Line{Process: &history.Process{Start: start, Member: member, Binary: binary, At: at}})
	}
	start(1, "n1", "/bin/a", 1)
	start(2, "n2", "/bin/a", 2)
	w.line(history.Line{Process: &history.Process{Start: 2, Member: "n2", At: 3, Ended: true}})
	next := "/bin/a"
	if swap {
		next = "/bin/b"
	}
	start(3, "n2", next, 4)
	w.line(history.Line{Status: &history.Status{Member: "n1", Start: 1, Call: 5, Return: 6, MemberID: "x", LeaderID: "x", Term: 2}})
	for _, f := range finalized {
		w.line(history.Line{Fault: &f})
	}
	if raise {
		w.mustDo(worldEpoch, &commandv1.Command{Body: &commandv1.Command_RaiseVersion{RaiseVersion: &commandv1.RaiseVersion{Version: 2}}})
		newer := &commandv1.Command{Body: &commandv1.Command_ObserveClock{ObserveClock: &commandv1.ObserveClock{}}}
		newer.Version = 2
		w.mustDo(worldEpoch, newer)
	}
	return w
}

func TestUpgrades(t *testing.T) {
	t.Parallel()
	final := history.Fault{Name: faultFinalize, At: 7}
	failed := history.Fault{Name: faultFinalize, At: 7, Failed: "no leader"}
	for _, c := range []struct {
		name        string
		raise, swap bool
		faults      []history.Fault
		outcome     Outcome
		texts       []string
	}{
		{"finalized", true, true, []history.Fault{final}, Pass, nil},
		{"raised by nobody", true, true, nil, Fail, []string{"raises the version to 2"}},
		{"raised though it failed", true, true, []history.Fault{failed}, Fail, []string{"raises the version to 2"}},
		{"no newer command", false, true, []history.Fault{final}, Invalid, []string{factNewer}},
		{"one program", true, false, []history.Fault{final}, Invalid, []string{factSwapped, factMixedTerms}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r, log := mixedWorld(t, c.raise, c.swap, c.faults...).finish()
			wants(t, Upgrades(r, 2, log), c.outcome, c.texts...)
		})
	}
}
