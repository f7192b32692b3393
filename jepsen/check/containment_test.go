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
			w.issue(2, 0, 50, 0, 1) // at a tick returned by start 1
			for tick := range int64(20) {
				w.issue(2, 0, 60+tick, 0, 16)
			}
			w.issue(0, 1, 30, 3, 2)
			w.issue(3, 1, 30, 5, 2)
			w.ids.Add(history.Issued{First: w.layout.Compose(40, 1, 0), Step: 1 << 5, Count: 10, Start: 3}) // ten ticks
		}, outcome: Pass},
		"too many of unknown processes": {func(w *world, _, _ fsm.Grant) {
			w.issue(1, 0, 10, 0, 16)
			w.issue(0, 1, 30, 3, 1)
		}, Invalid, "unknown for 1 of 17 IDs"},
		"nothing":         {with: func(*world, fsm.Grant, fsm.Grant) {}, outcome: Invalid, want: "no client received an ID or a number"},
		"before a window": {func(w *world, _, _ fsm.Grant) { w.issue(1, 0, 9, 0, 1) }, Fail, "which the log did not grant"},
		"after a window":  {func(w *world, _, second fsm.Grant) { w.issue(0, 0, second.Until, 0, 1) }, Fail, "which the log did not grant"},
		"returned":        {func(w *world, _, _ fsm.Grant) { w.issue(1, 0, 42, 0, 1) }, Fail, "was returned from tick 40"},
		"the last of a batch": {func(w *world, _, second fsm.Grant) {
			w.ids.Add(history.Issued{First: w.layout.Compose(second.Until-1, 0, 0), Step: 1 << 5, Count: 2})
		}, Fail, "which the log did not grant"},
		"the last of a batch with another step": {func(w *world, _, second fsm.Grant) {
			w.ids.Add(history.Issued{First: w.layout.Compose(second.Until-1, 0, 0), Step: 1<<5 + 1, Count: 2})
		}, Fail, "which the log did not grant"},
		"a batch of two workers": {func(w *world, _, _ fsm.Grant) {
			w.ids.Add(history.Issued{First: w.layout.Compose(15, 0, 15), Step: 1, Count: 2})
		}, Fail, "of worker 1 at tick 15"},
		"a window of another start": {func(w *world, _, _ fsm.Grant) {
			w.issue(1, 0, 10, 0, 1)
			w.issue(1, 0, 50, 0, 1)
		}, Fail, "is in the window of token"},
		"a window of two starts": {func(w *world, _, _ fsm.Grant) {
			w.issue(1, 0, 10, 0, 1)
			w.issue(4, 0, 11, 0, 1)
		}, Fail, "which belongs to start 1"},
		"a window of another member":       {func(w *world, _, _ fsm.Grant) { w.issue(2, 0, 10, 0, 1) }, Fail, "but n2 answered"},
		"a generator in a member's window": {func(w *world, _, _ fsm.Grant) { w.issue(3, 0, 10, 0, 1) }, Fail, "in a window of member n1"},
		"a start without a process":        {func(w *world, _, _ fsm.Grant) { w.issue(9, 0, 10, 0, 1) }, Invalid, "which the history lacks"},
		"an invalid ID":                    {func(w *world, _, _ fsm.Grant) { w.ids.Add(history.Issued{First: 1 << 40, Count: 1}) }, Fail, "is not valid in layout"},
		"ID 0":                             {func(w *world, _, _ fsm.Grant) { w.ids.Add(history.Issued{Count: 1}) }, Fail, "is not valid in layout"},
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
		"a layout reported with other fields": {func(w *world, _, _ fsm.Grant) {
			w.line(history.Line{Layout: &history.Layout{Name: "tiny", Fields: []history.Field{{Kind: "time", Bits: 35}}, UnitMillis: 1}})
			w.issue(1, 0, 10, 0, 1)
		}, Fail, "the members reported layout"},
		"a gap in the log": {func(w *world, _, _ fsm.Grant) {
			w.issue(1, 0, 10, 0, 1)
			w.logs = append(w.logs[:2:2], w.logs[3:]...)
		}, Invalid, "the committed log is incomplete"},
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
				t.Fatalf("granted %+v and %+v, want worker 0 twice, the second time from tick 45", first, second)
			}
			c.with(w, first, second)
			v := Containment(w.finish())
			wantVerdict(t, v, c.outcome, c.want)
			if name == "all as granted" && (v.Facts[factIDs] != 31+20*16 || v.Facts[factUnknown] != 2 || v.Facts[factWindows] != 3) {
				t.Errorf("Containment() counts %v, want 351 IDs, 2 of unknown processes, and 3 windows", v.Facts)
			}
		})
	}
}

// A holder owns its whole window, even if it did not learn of an extension.
func TestContainmentOfExtensions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.process(1, "n1", false)
	g := w.acquire(10, "n1/0", 1)
	if r := w.extend(60, g, 1); r.Failure() != nil || r.Grant.Until != 160 {
		t.Fatalf("extend(60) = %+v, want end 160", r)
	}
	if r := w.extend(70, g, 1); r.Err == nil { // old end
		t.Fatalf("extend(70) = %+v, want refusal", r)
	}
	w.issue(1, 0, 159, 0, 1)
	wantVerdict(t, Containment(w.finish()), Pass, "")
}

// TestContainmentOfNumbers has numbers that were granted, returned or never granted.
func TestContainmentOfNumbers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		op  history.Op
		bad bool
	}{
		"all of two blocks":         {op: history.Op{First: -7, Count: 15, Increment: 3}},
		"one":                       {op: history.Op{First: -4, Count: 1, Increment: 3}},
		"one, without an increment": {op: history.Op{First: 2, Do: history.DoIncr}},
		"another one":               {op: history.Op{First: 3, Count: 1, Increment: 3}, bad: true},
		"another one over Redis":    {op: history.Op{First: 3, Do: history.DoIncr}, bad: true},
		"before":                    {op: history.Op{First: -10, Count: 1, Increment: 3}, bad: true},
		"returned":                  {op: history.Op{First: 38, Count: 1, Increment: 3}, bad: true},
		"some of them returned":     {op: history.Op{First: 32, Count: 3, Increment: 3}, bad: true},
		"in other steps":            {op: history.Op{First: -7, Count: 2, Increment: 6}, bad: true},
		"without an increment":      {op: history.Op{First: -7, Count: 2}, bad: true},
		"of another sequence":       {op: history.Op{First: -7, Count: 1, Key: "other"}, bad: true},
		"an unknown outcome":        {op: history.Op{First: 3, Count: 1, Outcome: history.Info}},
		"of the next period":        {op: history.Op{First: -7, Count: 3, Increment: 3}},
		"a read":                    {op: history.Op{First: 3, Do: history.DoRead}},
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
			w.allocate(generation, 5, 20250101, "id") // grants -7 to 5
			w.allocate(generation, 5, 20250101, "id")
			second := w.allocate(generation, 12, 20250101, "") // grants 8 to 41
			if r := w.giveBack(second.Block.Token, 2); r.Failure() != nil {
				t.Fatal(r.Failure())
			}
			w.allocate(generation, 1, 20250102, "") // grants -7 again
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
