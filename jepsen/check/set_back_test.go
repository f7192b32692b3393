package check

import (
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/snowraft/snowraft/jepsen/history"
	"github.com/snowraft/snowraft/jepsen/raftlog"
)

// setBackAt is the moment at which n1 is set back. Its start 1 is of the old branch, its start 30 of the new one, and start
// 2 is of n3, which is not set back.
const setBackAt = 20

// takes records numbers 1 apart, which a start of a member issued at a moment.
func (w *world) takes(member string, start uint32, at, first int64, count uint32) {
	w.line(history.Line{Op: &history.Op{
		ID: 1, Do: history.DoNext, Key: "s", Call: at, Return: at, Outcome: history.OK, Member: member, Start: start, First: first, Count: count, Increment: 1,
	}})
}

func TestSetBack(t *testing.T) {
	t.Parallel()
	const second = int64(time.Second)
	for name, c := range map[string]struct {
		happens func(w *world)
		want    Outcome
		says    string
	}{
		"repeats within the bound": {
			happens: func(w *world) {
				w.takes("n1", 1, 10, 101, 5)
				w.takes("n1", 30, 40, 103, 5)
				w.issue(1, 1, 150, 0, 2)
				w.issue(30, 1, 150, 1, 2)
			}, want: Pass,
		},
		"nothing repeats": {
			happens: func(w *world) { w.takes("n1", 1, 10, 101, 5) }, want: Invalid, says: "nothing was issued twice",
		},
		"a number of before the copies": {
			happens: func(w *world) { w.takes("n1", 1, 10, 1, 5); w.takes("n1", 30, 40, 5, 1) }, want: Fail, says: `number 5 of sequence "s" was issued twice`,
		},
		"a number that one branch granted": {
			happens: func(w *world) { w.takes("n1", 1, 10, 130, 1); w.takes("n1", 30, 40, 130, 1) }, want: Fail, says: "number 130",
		},
		"a number twice in one branch": {
			happens: func(w *world) { w.takes("n1", 30, 40, 105, 1); w.takes("n1", 30, 41, 105, 1) }, want: Fail, says: "number 105",
		},
		"a number of both branches, twice in one": {
			happens: func(w *world) {
				w.takes("n1", 1, 10, 103, 5)
				w.takes("n1", 30, 40, 105, 1)
				w.takes("n1", 30, 41, 105, 1)
			}, want: Fail, says: "number 105",
		},
		"a number that no log granted": {
			happens: func(w *world) { w.takes("n1", 1, 10, 500, 1) }, want: Fail, says: "did not grant",
		},
		"an ID of a window that had ended": {
			happens: func(w *world) { w.issue(1, 0, 50, 0, 1); w.issue(30, 0, 50, 0, 1) }, want: Fail, says: "was issued twice",
		},
		"an ID of a window of one branch": {
			happens: func(w *world) { w.issue(1, 1, 250, 0, 1); w.issue(30, 1, 250, 0, 1) }, want: Fail, says: "was issued twice",
		},
		"an ID of a tick without a window": {
			happens: func(w *world) { w.issue(1, 1, 350, 0, 1) }, want: Fail, says: "is in no window of the process that issued it",
		},
		"an ID of another member's window": {
			happens: func(w *world) { w.issue(2, 1, 150, 0, 1) }, want: Fail, says: "is in no window of the process that issued it",
		},
		"IDs of the windows of two processes": {
			happens: func(w *world) { w.issue(30, 0, 110, 0, 1); w.issue(30, 1, 250, 0, 1) }, want: Fail, says: "is in no window of the process that issued it",
		},
		"a number after the seal": {
			happens: func(w *world) { w.takes("n3", 2, 60+2*second, 110, 1) }, want: Fail, says: "n3 was sealed, and answered",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.process(1, "n1", false)
			w.process(2, "n3", false)
			w.process(30, "n1", false)
			w.line(history.Line{Note: &history.Note{At: 60, Member: "n3", What: history.NoteSealed}})
			w.line(history.Line{Op: &history.Op{ID: 1, Do: history.DoIDs, Call: 3 * second, Member: "n3", Outcome: history.Fail}})
			c.happens(w)
			r, _ := w.finish()
			r.Header.WallNanos = w.layout.MillisAt(120) * int64(time.Millisecond)
			v := newVerdict("set-back")
			b := setBackBranches(r)
			if err := errors.Join(b.judge(v), b.silent(v, history.NoteSealed, r.firstEnded())); err != nil {
				t.Fatal(err)
			}
			if v.Outcome != c.want || !strings.Contains(strings.Join(v.Failures, "\n"), c.says) {
				t.Errorf("verdict = %+v, want %s with %q", v, c.want, c.says)
			}
		})
	}
}

// setBackBranches returns branches in which the numbers 1 to 100 were granted before the copies, 101 to 200 in the old
// branch, and 101 to 120 in the new one. One window of the old branch ended before, the other one
// reaches into both.
func setBackBranches(r *Run) *branches {
	block := func(first int64, count uint64) raftlog.Block {
		return raftlog.Block{Index: uint64(first), First: first, Count: count, Increment: 1}
	}
	windows := func(ended, until int64, nonce byte) map[raftlog.Lane][]raftlog.Window {
		lane := func(worker uint64) raftlog.Lane { return raftlog.Lane{Layout: worldSpec.Name, Worker: worker} }
		window := func(from, until int64) []raftlog.Window {
			return []raftlog.Window{{Holder: "n1/0", NonceHash: [32]byte{nonce}, From: from, Until: until}}
		}
		return map[raftlog.Lane][]raftlog.Window{lane(0): window(0, ended), lane(1): window(100, until)}
	}
	b := &branches{
		run: r, fault: FaultSpan{Name: FaultSetBack, From: setBackAt, To: 50, Hosts: []string{"n1"}}, forked: 1,
		old: &raftlog.Log{Final: 3}, now: &raftlog.Log{Final: 2}, all: raftlog.NewGrants(),
		lost:  &raftlog.Grants{Windows: windows(100, 300, 1), Blocks: map[string][]raftlog.Block{"s": {block(101, 100)}}},
		again: &raftlog.Grants{Windows: windows(120, 200, 2), Blocks: map[string][]raftlog.Block{"s": {block(101, 20)}}},
	}
	b.lostSets, b.againSets = blocksOf(b.lost), blocksOf(b.again)
	b.side = b.setBackSide
	b.all.Add(&raftlog.Grants{Windows: b.lost.Windows})
	b.all.Add(&raftlog.Grants{Windows: b.again.Windows})
	maps.Copy(b.all.Blocks, map[string][]raftlog.Block{"s": {block(1, 100), block(101, 100)}})
	return b
}
