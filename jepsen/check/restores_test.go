package check

import (
	"slices"
	"testing"

	"github.com/snowraft/snowraft/jepsen/history"
)

// reborn returns a history of two lives: the first ends at 10 s, and the second announced IDs from 31 s.
func reborn(more ...history.Life) *scene {
	s := newScene()
	s.lines[0].Run.MaxWindowMillis = 20_000
	life := history.Life{Number: 2, At: 10 * second, IssuesMillis: sceneWall/1e6 + 31_000}
	for _, l := range append([]history.Life{life}, more...) {
		s.add(history.Line{Life: &l})
	}
	s.add(
		history.Line{Process: &history.Process{Start: 1, Member: "n1", At: 1}},
		history.Line{Process: &history.Process{Start: 2, Member: "gen-1", Generator: true, At: 1}},
		history.Line{Process: &history.Process{Start: 3, Member: "n1", At: 11 * second}},
		history.Line{Process: &history.Process{Start: 4, Member: "gen-2", Generator: true, At: 11 * second}},
		history.Line{Process: &history.Process{Start: 5, Member: "n2", At: 21 * second}},
		history.Line{Op: &history.Op{ID: 1, Do: history.DoIDs, Member: "n1", Outcome: history.Fail, Call: 32 * second, Return: 33 * second}},
		history.Line{Phase: &history.Phase{Name: history.PhaseEnd, At: 60 * second}},
	)
	return s
}

// unasked removes the operations, which are requests for IDs.
func unasked(s *scene) *scene {
	s.lines = slices.DeleteFunc(s.lines, func(l history.Line) bool { return l.Op != nil })
	return s
}

func reported(start uint32, at int64) history.Issued {
	return history.Issued{First: uint64(at), Step: 1, Count: 1, Start: start, Call: at - 1, Return: at}
}

func TestRestores(t *testing.T) {
	t.Parallel()
	early := history.Life{Number: 3, At: 20 * second, IssuesMillis: sceneWall/1e6 + 41_000}
	for name, c := range map[string]struct {
		s       *scene
		outcome Outcome
		says    []string
	}{
		"none":                      {newScene(), Pass, nil},
		"in time":                   {reborn().issue("default", reported(1, 5*second), reported(3, 31*second)), Pass, nil},
		"a generator that lives on": {reborn().issue("default", reported(2, 5*second), reported(2, 20*second), reported(2, 40*second), reported(3, 33*second)), Pass, nil},
		"a member too early":        {reborn().issue("default", reported(3, 30*second)), Fail, []string{"in life 2, 1s before the announced time"}},
		"a generator too early":     {reborn().issue("default", reported(4, 30*second), reported(3, 31*second)), Fail, []string{"in life 2, 1s before"}},
		"too late":                  {reborn().issue("default", reported(4, 32*second), reported(3, 40*second)), Fail, []string{"no ID for 9s after the announced time"}},
		"never":                     {reborn().issue("default", reported(1, 5*second)), Fail, []string{"life 2 issued no ID"}},
		"no requests":               {unasked(reborn()).issue("default", reported(1, 5*second)), Pass, nil},
		"too little room":           {reborn(history.Life{Number: 3, At: 40 * second, IssuesMillis: sceneWall/1e6 + 55_000}).issue("default", reported(3, 31*second)), Fail, []string{"announced IDs 15s after"}},
		"ended before":              {reborn(early).issue("default", reported(5, 42*second)), Invalid, []string{"life 2 ended before"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := Restores(c.s.open(t))
			wants(t, v, c.outcome, c.says...)
		})
	}
}

func TestLifeOutOfOrder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	newScene(history.Line{Life: &history.Life{Number: 3}}).write(t, dir)
	if _, err := Open(dir); err == nil {
		t.Error("Open() accepted life 3 after life 1, want error")
	}
}

// A restored cluster may have forgotten a request, which is then a new one, and the last numbers of sequences.
func TestRequestsOverARestore(t *testing.T) {
	t.Parallel()
	op := func(id uint64, do, request string, first, call int64) history.Op {
		return history.Op{
			ID: id, Workload: "strict", Do: do, Key: "k", First: first, Count: 1, Increment: 1, RequestID: request, Outcome: history.OK,
			Call: call * second, Return: call*second + 1,
		}
	}
	fault := func(at int64, ended bool) history.Line {
		return history.Line{Fault: &history.Fault{Name: "restore", Family: familyRestore, At: at * second, Ended: ended}}
	}
	begin := func() *scene {
		s := reborn()
		s.add(history.Line{Sequence: &history.Sequence{Name: "k", Mode: history.ModeStrict}}, fault(9, false), fault(40, true))
		return s.ops(op(1, history.DoNext, "a", 1, 2), op(2, history.DoNext, "", 2, 3))
	}
	for name, c := range map[string]struct {
		s       *scene
		outcome Outcome
	}{
		"other numbers":                {begin().ops(op(3, history.DoNext, "a", 3, 41)), Pass},
		"the same":                     {begin().ops(op(3, history.DoNext, "a", 1, 41)), Pass},
		"other numbers before":         {begin().ops(op(3, history.DoNext, "a", 3, 5)), Fail},
		"other numbers that repeat":    {begin().ops(op(3, history.DoNext, "a", 2, 41)), Fail},
		"no last number meanwhile":     {begin().ops(op(3, history.DoRead, "", 0, 20)), Pass},
		"no last number afterwards":    {begin().ops(op(3, history.DoRead, "", 0, 41)), Fail},
		"an old last number meanwhile": {begin().ops(op(3, history.DoRead, "", 1, 20)), Fail},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := c.s.open(t)
			if got := Overall([]Verdict{Uniqueness(r), Order(r)}); got != c.outcome {
				t.Errorf("Overall() = %s, want %s: %+v %+v", got, c.outcome, Uniqueness(r), Order(r))
			}
		})
	}
}
