package check

import (
	"errors"
	"strings"
	"testing"

	"github.com/snowraft/snowraft/jepsen/history"
)

// TestTwoLives lets start 1 be of the first life, start 20 of n4, which has an old directory, and start 30 of the second life.
func TestTwoLives(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		happens func(w *world)
		want    Outcome
		says    string
	}{
		"repeats of both clusters": {
			happens: func(w *world) { w.takes("n4", 20, 30, 101, 5); w.takes("n1", 30, 40, 103, 5) }, want: Pass,
		},
		"a number that only the old one granted": {
			happens: func(w *world) { w.takes("n4", 20, 30, 130, 1); w.takes("n1", 30, 40, 130, 1) }, want: Fail, says: "number 130",
		},
		"a number of before the restore": {
			happens: func(w *world) { w.takes("n1", 1, 10, 103, 1); w.takes("n1", 30, 40, 103, 1) }, want: Fail, says: "number 103",
		},
		"a number twice in the old one": {
			happens: func(w *world) { w.takes("n4", 20, 30, 103, 1); w.takes("n4", 20, 31, 103, 1) }, want: Fail, says: "number 103",
		},
		"a number after the old one was heard": {
			happens: func(w *world) { w.takes("n1", 30, 60+2*int64(stopsWithin), 110, 1) }, want: Fail, says: "n1 was stopped by an older cluster, and answered",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.process(1, "n1", false)
			w.process(20, "n4", false)
			w.process(30, "n1", false)
			w.line(history.Line{Life: &history.Life{Number: 2, At: 15}})
			w.line(history.Line{Note: &history.Note{At: 60, Member: "n1", What: history.NoteHeard}})
			w.line(history.Line{Op: &history.Op{ID: 1, Do: history.DoIDs, Call: 3 * int64(stopsWithin), Member: "n1", Outcome: history.Fail}})
			c.happens(w)
			r, _ := w.finish()
			b := setBackBranches(r)
			b.fault, b.side = FaultSpan{Name: FaultTwoLives, From: 20, To: 10 * int64(stopsWithin), Hosts: []string{"n4"}}, b.lifeSide
			v := newVerdict("two-lives")
			if err := errors.Join(b.judge(v), b.silent(v, history.NoteHeard, b.fault.To)); err != nil {
				t.Fatal(err)
			}
			if v.Outcome != c.want || !strings.Contains(strings.Join(v.Failures, "\n"), c.says) {
				t.Errorf("verdict = %+v, want %s with %q", v, c.want, c.says)
			}
		})
	}
}
