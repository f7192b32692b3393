package fsm

import (
	"fmt"
	"strings"
	"testing"

	"github.com/snowraft/snowraft/snowflake"
)

// branches returns two logs that continue from the log's state on their own.
func (l *log) branches() [2]*log {
	l.t.Helper()
	read := func() *log { return &log{State: mustRead(l.t, snapshotBytes(l.t, l.State)), t: l.t, index: l.index} }
	return [2]*log{read(), read()}
}

// merged merges the states of two branches, in either order, and calls check with each result after a restore.
func merged(t *testing.T, branches [2]*log, check func(*testing.T, *log)) {
	t.Helper()
	for main := range branches {
		t.Run(fmt.Sprint("into ", main), func(t *testing.T) {
			read := func(from *log) *State { return mustRead(t, snapshotBytes(t, from.State)) }
			l := &log{State: read(branches[main]), t: t}
			if err := l.Merge(read(branches[1-main])); err != nil {
				t.Fatal(err)
			}
			for _, b := range branches {
				if err := covers(l.State, b.State); err != nil {
					t.Error(err)
				}
				if from := read(b); l.observed < from.observed || l.State.index < from.index {
					t.Errorf("observed %d at index %d, below %d at %d", l.observed, l.State.index, from.observed, from.index)
				}
			}
			r := restoration(l.State)
			if err := l.Restore(r); err != nil {
				t.Fatal(err)
			}
			l.index = r.Index
			l.survives()
			check(t, l)
		})
	}
}

func TestMergedWindows(t *testing.T) {
	l := newLog(t, tiny)
	held := l.must(at(epoch, acquire("a", 1000))).Grant
	b := l.branches()
	first := b[0].must(at(epoch+500, extend(held, nonceHash('a'), held.Until, 5000))).Grant
	b[1].must(at(epoch+500, extend(held, nonceHash('a'), held.Until, 2000)))
	second := b[1].must(at(epoch+500, acquire("b", 3000))).Grant
	b[1].must(at(epoch+5000, observe(false)))
	later := snowflake.Spec{Name: "later", UnitMillis: 10_000, EpochMillis: epoch, Fields: tiny.Fields}
	b[0].must(at(epoch+500, createLayout(later)))
	merged(t, b, func(t *testing.T, l *log) {
		workers := l.Workers("tiny", 0, 9)
		if len(workers) != 2 || workers[0].Until != first.Until || workers[1].Until != second.Until || !workers[0].Released {
			t.Errorf("%+v, want ends at %d and %d", workers, first.Until, second.Until)
		}
		if _, ok := l.LayoutInfo("later"); !ok {
			t.Error("a layout of one branch is missing")
		}
	})
}

func TestMergedNumbers(t *testing.T) {
	l := newSequenceLog(t, plain("both"), plain("down", numbers(0, -1, -1000, 1000)), plain("kept"), plain("gone"), plain("changed"))
	l.take("kept", 5, 0)
	l.take("gone", 5, 0)
	b := l.branches()
	for i, count := range []uint64{7, 30} {
		b[i].take("both", count, 0)
		b[1-i].take("down", count, 0)
		b[i].must(remove("gone"))
		b[i].must(create(plain(fmt.Sprint("only-", i)), 0))
		b[i].take(fmt.Sprint("only-", i), 9, 0)
	}
	b[0].must(remove("kept"))
	b[1].take("kept", 5, 0)
	generation := b[0].seq("changed").Generation
	b[0].must(change(plain("changed", numbers(50, 1, 1, 100)), generation))
	b[0].take("changed", 5, 0)
	b[1].must(change(plain("changed", numbers(50, -1, 1, 100)), generation))
	b[1].take("changed", 5, 0)
	merged(t, b, func(t *testing.T, l *log) {
		for name, next := range map[string]int64{"both": 31, "down": -30, "kept": 11, "only-0": 10, "only-1": 10} {
			if q := l.must(resume(name, l.seq(name).Generation, nil, 0)).Sequence; q.Next != next {
				t.Errorf("%s: next is %d, want %d", name, q.Next, next)
			}
		}
		if q := l.must(resume("changed", l.seq("changed").Generation, nil, 0)).Sequence; q.Next > 45 && q.Next < 55 {
			t.Errorf("%+v, want a number outside those of both directions", q)
		}
		if l.DeletedGeneration("gone") == 0 {
			t.Error("a sequence that both branches deleted is back")
		}
	})
}

func TestMergedPeriods(t *testing.T) {
	const monday, tuesday = 20240101, 20240102 // before the time of the restore
	l := newLog(t)
	for _, name := range []string{"same", "later", "fresh"} {
		l.must(create(plain(name, resetting(resetDaily)), monday))
	}
	l.must(create(plain("different"), 0))
	b := l.branches()
	b[0].take("same", 7, monday)
	b[1].take("same", 30, monday)
	b[0].take("later", 30, monday)
	b[1].take("later", 7, tuesday)
	b[0].take("fresh", 30, monday)
	b[1].must(remove("fresh"))
	b[1].must(create(plain("fresh", resetting(resetDaily)), tuesday)) // nothing was granted of it
	b[0].must(change(plain("different", resetting(resetDaily)), b[0].seq("different").Generation))
	b[0].take("different", 30, monday)
	b[0].take("different", 3, tuesday) // the 30 of the day before are not remembered
	b[1].take("different", 7, 0)
	for name, want := range map[string]sequence{
		"same":      {period: monday, used: hull{1, 30, true}},
		"later":     {period: tuesday, used: hull{1, 7, true}},
		"fresh":     {period: tuesday, used: hull{0, 0, true}}, // a trace
		"different": {period: tuesday, used: hull{1, 7, true}, spent: true},
	} {
		for main := range b {
			s := mustRead(t, snapshotBytes(t, b[main].State))
			if err := s.Merge(mustRead(t, snapshotBytes(t, b[1-main].State))); err != nil {
				t.Fatal(err)
			}
			if q, _ := s.sequences.live.Get(name); q.period != want.period || q.used != want.used || q.spent != want.spent {
				t.Errorf("%s into %d: %+v, want %+v", name, main, q, want)
			}
		}
	}
	merged(t, b, func(t *testing.T, l *log) {
		if q := l.seq("different"); q.Spec.GetReset_() != resetNone {
			t.Errorf("%+v, want no reset", q)
		}
		if q := l.must(resume("different", l.seq("different").Generation, new(int64(30)), 0)).Sequence; q.Next != 31 {
			t.Errorf("%+v, want 31 next", q)
		}
	})
}

// In the later period of a restored cluster, the earlier cluster may have granted any number.
func TestMergedSpentPeriod(t *testing.T) {
	spec := compact(plain("s", resetting(resetDaily)))
	early := &sequence{name: "s", spec: spec, base: 1, granted: 5, used: hull{1, 5, true}, period: 20240101}
	spent := &sequence{name: "s", spec: spec, base: 1, used: hull{0, 0, true}, period: 20240102, spent: true}
	for _, q := range []*sequence{early.covering(spent), spent.covering(early)} {
		if !q.spent || q.period != spent.period || q.used != spent.used {
			t.Errorf("%+v, want nothing left of the later period", q)
		}
	}
}

// A branch that granted nothing of a sequence does not decide about its reset.
func TestMergedUnusedSequence(t *testing.T) {
	for used := range 2 {
		b := newSequenceLog(t, plain("s")).branches()
		b[used].must(change(plain("s", resetting(resetDaily)), b[used].seq("s").Generation))
		b[used].take("s", 5, 20240101)
		if err := b[0].Merge(b[1].State); err != nil {
			t.Fatal(err)
		}
		if q := b[0].seq("s"); q.Spec.GetReset_() != resetDaily || q.Next != 6 {
			t.Errorf("%+v, want that of branch %d", q, used)
		}
	}
}

func TestMergedAnswers(t *testing.T) {
	l := newSequenceLog(t, plain("here"), plain("there"))
	b := l.branches()
	ask := func(l *log, name, id string) { l.must(withID(allocate(name, l.seq(name).Generation, 5, 0), id)) }
	ask(b[0], "here", "mine")
	b[0].must(change(plain("there", numbers(1, 1, 1, 100)), b[0].seq("there").Generation))
	ask(b[0], "there", "newer than the other record")
	ask(b[1], "there", "other")
	b[0].must(remove("there"))
	if err := b[0].Merge(b[1].State); err != nil {
		t.Fatal(err)
	}
	if kept := b[0].answers.kept(); len(kept) != 1 || kept[0].request != "mine" {
		t.Errorf("%+v, want the answer of the sequence that stays", kept)
	}
}

func TestMergeRefuses(t *testing.T) {
	finer := tiny
	finer.UnitMillis = 1
	for want, prepare := range map[string]func(a, b *log){
		`layout "tiny" has another unit`: func(a, b *log) { a.must(at(epoch, createLayout(tiny))); b.must(at(epoch, createLayout(finer))) },
		"2 sequences together": func(a, b *log) {
			a.maxSequences = 1
			a.must(create(plain("a"), 0))
			b.must(create(plain("b"), 0))
		},
	} {
		a, b := newLog(t), newLog(t)
		prepare(a, b)
		if err := a.Merge(b.State); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Merge() = %v, want %q", err, want)
		}
	}
}
