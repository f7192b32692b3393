package check

import (
	"cmp"
	"math"
	"testing"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"

	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/jepsen/history"
)

func TestContainment(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		with    func(w *world, first, second fsm.Grant)
		outcome Outcome
		want    string
	}{
		"all as granted": {with: func(w *world, first, second fsm.Grant) {
			w.issue(1, 0, 10, 0, 16)
			w.issue(2, 0, 50, 0, 1) // a tick that start 1 returned
			for tick := range int64(20) {
				w.issue(2, 0, 60+tick, 0, 16)
			}
			w.issue(0, 1, 30, 3, 2)
			w.issue(3, 1, 30, 5, 2)
			w.ids.Add(history.Issued{First: w.layout.Compose(40, 1, 0), Step: 1 << 5, Count: 10, Start: 3}) // ten ticks
		}, outcome: Pass},
		"too many of nobody knows whom": {func(w *world, _, _ fsm.Grant) {
			w.issue(1, 0, 10, 0, 16)
			w.issue(0, 1, 30, 3, 1)
		}, Invalid, "of 1 of 17 IDs nobody knows"},
		"nothing":         {with: func(*world, fsm.Grant, fsm.Grant) {}, outcome: Invalid, want: "no client was given an ID or a number"},
		"before a window": {func(w *world, _, _ fsm.Grant) { w.issue(1, 0, 9, 0, 1) }, Fail, "granted to nobody"},
		"after a window":  {func(w *world, _, second fsm.Grant) { w.issue(0, 0, second.Until, 0, 1) }, Fail, "granted to nobody"},
		"returned":        {func(w *world, _, _ fsm.Grant) { w.issue(1, 0, 42, 0, 1) }, Fail, "was returned from 40 on"},
		"the last of a batch": {func(w *world, _, second fsm.Grant) {
			w.ids.Add(history.Issued{First: w.layout.Compose(second.Until-1, 0, 0), Step: 1 << 5, Count: 2})
		}, Fail, "granted to nobody"},
		"the last of a batch that goes aslant": {func(w *world, _, second fsm.Grant) {
			w.ids.Add(history.Issued{First: w.layout.Compose(second.Until-1, 0, 0), Step: 1<<5 + 1, Count: 2})
		}, Fail, "granted to nobody"},
		"a batch of two workers": {func(w *world, _, _ fsm.Grant) {
			w.ids.Add(history.Issued{First: w.layout.Compose(15, 0, 15), Step: 1, Count: 2})
		}, Fail, "of worker 1 at tick 15"},
		"of another's window": {func(w *world, _, _ fsm.Grant) {
			w.issue(1, 0, 10, 0, 1)
			w.issue(1, 0, 50, 0, 1)
		}, Fail, "is in the window of token"},
		"of two starts": {func(w *world, _, _ fsm.Grant) {
			w.issue(1, 0, 10, 0, 1)
			w.issue(4, 0, 11, 0, 1)
		}, Fail, "which is start 1's"},
		"of another member":         {func(w *world, _, _ fsm.Grant) { w.issue(2, 0, 10, 0, 1) }, Fail, "and n2 answered"},
		"a generator of a member's": {func(w *world, _, _ fsm.Grant) { w.issue(3, 0, 10, 0, 1) }, Fail, "in a window of member n1"},
		"a start without a process": {func(w *world, _, _ fsm.Grant) { w.issue(9, 0, 10, 0, 1) }, Invalid, "which the history does not have"},
		"no ID":                     {func(w *world, _, _ fsm.Grant) { w.ids.Add(history.Issued{First: 1 << 40, Count: 1}) }, Fail, "is no ID"},
		"ID 0":                      {func(w *world, _, _ fsm.Grant) { w.ids.Add(history.Issued{Count: 1}) }, Fail, "is no ID"},
		"another layout": {func(w *world, _, _ fsm.Grant) {
			other, err := history.CreateIDs(w.dir, "other", 0)
			if err != nil {
				w.t.Fatal(err)
			}
			other.Add(history.Issued{First: 7, Count: 1})
			if err := other.Close(); err != nil {
				w.t.Fatal(err)
			}
		}, Fail, "which the log never created"},
		"a layout that is said to be otherwise": {func(w *world, _, _ fsm.Grant) {
			w.line(history.Line{Layout: &history.Layout{Name: "tiny", Fields: []history.Field{{Kind: "time", Bits: 35}}, UnitMillis: 1}})
			w.issue(1, 0, 10, 0, 1)
		}, Fail, "the members said"},
		"a gap in the log": {func(w *world, _, _ fsm.Grant) {
			w.issue(1, 0, 10, 0, 1)
			w.logs = append(w.logs[:2:2], w.logs[3:]...)
		}, Invalid, "the committed log is not known"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.process(1, "n1", false)
			w.process(2, "n2", false)
			w.process(3, "g1", true)
			w.process(4, "n1", false)
			first := w.acquire(10, "n1/0", 1)
			w.acquire(20, "some-host/0", 3)
			w.release(first, 1, 40)
			second := w.acquire(45, "n2/1", 2)
			if first.Worker != 0 || second.Worker != 0 || second.From != 45 {
				t.Fatalf("%+v, %+v", first, second)
			}
			c.with(w, first, second)
			v := Containment(w.finish())
			wantVerdict(t, v, c.outcome, c.want)
			if name == "all as granted" && (v.Facts[factIDs] != 31+20*16 || v.Facts[factUnknown] != 2 || v.Facts[factWindows] != 3) {
				t.Errorf("%v", v.Facts)
			}
		})
	}
}

// A holder that does not know that its window was extended, or was extended further, has all of it.
func TestContainmentOfExtensions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.process(1, "n1", false)
	g := w.acquire(10, "n1/0", 1)
	if r := w.extend(60, g, 1); r.Failure() != nil || r.Grant.Until != 160 {
		t.Fatalf("%+v", r)
	}
	if r := w.extend(70, g, 1); r.Err == nil { // with the end of before
		t.Fatalf("%+v", r)
	}
	w.issue(1, 0, 159, 0, 1)
	wantVerdict(t, Containment(w.finish()), Pass, "")
}

// Numbers that were granted, and some that were not or were returned.
func TestContainmentOfNumbers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		op  history.Op
		bad bool
	}{
		"all of two blocks":            {op: history.Op{First: -7, Count: 15, Increment: 3}},
		"one":                          {op: history.Op{First: -4, Count: 1, Increment: 3}},
		"one, in no steps":             {op: history.Op{First: 2, Do: history.DoIncr}},
		"another one":                  {op: history.Op{First: 3, Count: 1, Increment: 3}, bad: true},
		"another one over Redis":       {op: history.Op{First: 3, Do: history.DoIncr}, bad: true},
		"before":                       {op: history.Op{First: -10, Count: 1, Increment: 3}, bad: true},
		"returned":                     {op: history.Op{First: 38, Count: 1, Increment: 3}, bad: true},
		"some of them returned":        {op: history.Op{First: 32, Count: 3, Increment: 3}, bad: true},
		"in other steps":               {op: history.Op{First: -7, Count: 2, Increment: 6}, bad: true},
		"in no steps":                  {op: history.Op{First: -7, Count: 2}, bad: true},
		"of another sequence":          {op: history.Op{First: -7, Count: 1, Key: "other"}, bad: true},
		"not known":                    {op: history.Op{First: 3, Count: 1, Outcome: history.Info}},
		"of the next period":           {op: history.Op{First: -7, Count: 3, Increment: 3}},
		"what a reader of it was told": {op: history.Op{First: 3, Do: history.DoRead}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.process(1, "n1", false)
			w.acquire(10, "n1/0", 1)
			w.issue(1, 0, 10, 0, 1)
			w.mustDo(worldEpoch, &commandv1.Command{Body: &commandv1.Command_RaiseVersion{RaiseVersion: &commandv1.RaiseVersion{Version: 2}}})
			generation := w.mustDo(worldEpoch, &commandv1.Command{Body: &commandv1.Command_CreateSequence{CreateSequence: &commandv1.CreateSequence{
				Spec: sequenceSpec("s", 3, -7, math.MaxInt64), Period: 20250101,
			}}}).Sequence.Generation
			w.allocate(generation, 5, 20250101, "id") // -7 to 5
			w.allocate(generation, 5, 20250101, "id")
			second := w.allocate(generation, 12, 20250101, "") // 8 to 41
			if r := w.giveBack(second.Block.Token, 2); r.Failure() != nil {
				t.Fatal(r.Failure())
			}
			w.allocate(generation, 1, 20250102, "") // -7 again
			op := c.op
			op.ID, op.Key = 1, cmp.Or(op.Key, "s")
			op.Do, op.Outcome = cmp.Or(op.Do, history.DoNext), cmp.Or(op.Outcome, history.OK)
			w.line(history.Line{Op: &op})
			v := Containment(w.finish())
			if c.bad {
				wantVerdict(t, v, Fail, "the log did not grant all of them")
			} else {
				wantVerdict(t, v, Pass, "")
			}
		})
	}
}
