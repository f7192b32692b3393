package check

import (
	"testing"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"

	"github.com/snowraft/snowraft/jepsen/history"
)

// mixedWorld returns a run in which n1 leads with the earlier program. If swap is true, n2 changes its program. If raise
// is true, the version rises to 2. n1 reports the commit index commit at moment 6.
func mixedWorld(t *testing.T, raise, swap bool, commit uint64, notes ...history.Note) *world {
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
	w.line(history.Line{Status: &history.Status{Member: "n1", Start: 1, Call: 5, Return: 6, MemberID: "x", LeaderID: "x", Term: 2, Commit: commit}})
	for _, n := range notes {
		w.line(history.Line{Note: &n})
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
	_, log := mixedWorld(t, true, true, 0).finish()
	var raised uint64 // index of the command
	for e, err := range log.Replay() {
		if err != nil {
			t.Fatal(err)
		}
		if e.Command.GetRaiseVersion() != nil {
			raised = e.Index
		}
	}
	requested := []history.Note{{What: history.NoteFinalize, At: 7}}
	for _, c := range []struct {
		name        string
		raise, swap bool
		commit      uint64
		notes       []history.Note
		outcome     Outcome
		texts       []string
	}{
		{"raised after the request", true, true, raised - 1, requested, Pass, nil},
		{"raised before the request", true, true, raised, requested, Fail, []string{"raises the version to 2", "before an operator"}},
		{"committed later than the request", true, true, raised, []history.Note{{What: history.NoteFinalize, At: 5}}, Pass, nil},
		{"raised without a request", true, true, 0, nil, Fail, []string{"raises the version to 2", "no operator"}},
		{"no newer command", false, true, 0, requested, Invalid, []string{factNewer}},
		{"one program", true, false, 0, requested, Invalid, []string{factSwapped, factMixedTerms}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r, log := mixedWorld(t, c.raise, c.swap, c.commit, c.notes...).finish()
			wants(t, Upgrades(r, 2, log), c.outcome, c.texts...)
		})
	}
}
