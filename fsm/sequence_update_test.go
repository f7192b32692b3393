package fsm

import (
	"math"
	"testing"

	"google.golang.org/protobuf/proto"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// changed updates the sequence "s" with its present generation.
func (l *log) changed(spec *commandv1.SequenceSpec) Sequence {
	l.t.Helper()
	return l.must(change(spec, l.seq("s").Generation)).Sequence
}

func TestUpdateSequence(t *testing.T) {
	spec := plain("s", numbers(1, 5, 1, 100))
	l := newSequenceLog(t, spec)
	generation := l.seq("s").Generation
	l.refused(unknownSeq, change(plain("other"), generation))
	l.refused(mismatchedGen, change(spec, generation+1))
	l.refused(invalidArgument, change(plain("s", numbers(0, 1, 1, 100)), generation))
	l.refused(invalidArgument, set(spec, generation, 0))
	l.refused(invalidArgument, set(spec, generation, 101))
	l.refused(invalidArgument, forced(set(spec, generation, 101)))
	b := l.gives("s", 3, 0, 1, 3)

	described := proto.CloneOf(spec)
	described.Description, described.MaxBlock = "new", 7_000_000
	q := l.changed(described)
	if q.Generation != l.index || q.Incarnation != generation || q.Next != 16 || !q.HasLast || q.Last != 11 || !proto.Equal(q.Spec, described) {
		t.Errorf("%+v", q)
	}
	l.refused(notLast, giveBack("s", b.Token, 1))
	l.refused(mismatchedGen, allocate("s", generation, 1, 0))
	if q = l.changed(plain("s", numbers(1, 3, 1, 100))); q.HasLast || q.Next != 16 {
		t.Errorf("%+v, want next number 16", q)
	}
	l.gives("s", 2, 0, 16, 2)
	l.survives()

	generation = l.seq("s").Generation
	three := plain("s", numbers(1, 3, 1, 100))
	for _, cmd := range []*commandv1.Command{
		set(three, generation, 1), set(three, generation, 19),
		change(plain("s", numbers(1, -1, 1, 100)), generation),     // down from 22
		set(plain("s", numbers(1, -1, 1, 100)), generation, 20),    // down from 20
		set(plain("s", numbers(-9, 1, -10, 100)), generation, -10), // up from behind
	} {
		l.refused(wouldRepeats, cmd)
	}
	l.must(set(three, generation, 20)) // just above all
	l.gives("s", 1, 0, 20, 1)
	l.must(set(plain("s", numbers(0, -1, -10, 100)), l.seq("s").Generation, 0)) // just below all
	l.gives("s", 1, 0, 0, 1)
	l.must(set(plain("s", numbers(-5, 1, -10, -2)), l.seq("s").Generation, -5)) // ends before all
	l.refused(wouldRepeats, change(plain("s", numbers(-5, 1, -10, 0)), l.seq("s").Generation))
	l.changed(plain("s", numbers(-5, 1, -10, -1)))
	l.gives("s", 100, 0, -5, 5)
	l.empty("s", 0)
	l.must(forced(set(three, l.seq("s").Generation, 1)))
	l.gives("s", 1, 0, 1, 1)
	l.changed(three) // a forced change need not be forced again
	l.refused(wouldRepeats, change(spec, l.seq("s").Generation))
	l.survives()
}

func TestUpdateOfBounds(t *testing.T) {
	l := newSequenceLog(t, plain("s", numbers(1, 5, 1, 100)))
	l.gives("s", 3, 0, 1, 3)
	q := l.changed(plain("s", numbers(1, 5, 1, 15)))
	if q.Remaining != 0 || q.Next != 0 || q.Last != 11 {
		t.Errorf("%+v, want no numbers left", q)
	}
	l.empty("s", 0)
	l.changed(plain("s", numbers(1, 5, 1, 21)))
	l.gives("s", 9, 0, 16, 2)
	l.empty("s", 0)
	// The next number follows the last one that was granted.
	l.changed(plain("s", numbers(1, 2, 1, 100)))
	l.gives("s", 1, 0, 23, 1)
	l.changed(plain("s", numbers(30, 2, 30, 100)))
	l.empty("s", 0) // 25 is below the minimum
	l.changed(plain("s", numbers(25, 2, 25, 100)))
	l.gives("s", 1, 0, 25, 1)

	// A sequence that granted nothing begins at its new start.
	l = newSequenceLog(t, plain("s"))
	l.changed(plain("s", numbers(50, 1, 50, 100)))
	b := l.gives("s", 5, 0, 50, 5)
	l.must(giveBack("s", b.Token, 5))
	l.changed(plain("s", numbers(7, 1, 1, 100)))
	l.gives("s", 5, 0, 7, 5)
	l.must(set(plain("s", numbers(7, 1, 1, 100)), l.seq("s").Generation, 60))
	l.changed(plain("s", numbers(8, 2, 1, 100)))
	l.gives("s", 1, 0, 60, 1)
}

func TestUpdateAtTheEndOfInt64(t *testing.T) {
	l := newSequenceLog(t, plain("s", numbers(math.MaxInt64-4, 5, math.MinInt64, math.MaxInt64)))
	l.gives("s", 9, 0, math.MaxInt64-4, 1)
	l.empty("s", 0)
	l.changed(plain("s", numbers(0, 3, math.MinInt64, math.MaxInt64)))
	l.gives("s", 9, 0, math.MaxInt64-1, 1)
	l.changed(plain("s", numbers(0, 2, math.MinInt64, math.MaxInt64)))
	l.empty("s", 0)
	if q := l.seq("s"); q.Last != math.MaxInt64-1 || !q.HasLast {
		t.Errorf("%+v", q)
	}
	l.survives()
	l.refused(wouldRepeats, change(plain("s", numbers(0, -2, math.MinInt64, math.MaxInt64)), l.seq("s").Generation))
	l.must(forced(change(plain("s", numbers(0, -2, math.MinInt64, math.MaxInt64)), l.seq("s").Generation)))
	l.gives("s", 1, 0, math.MaxInt64-3, 1)
}

func TestUpdateOfResets(t *testing.T) {
	none, daily := plain("s"), plain("s", resetting(resetDaily))
	monthly, yearly := plain("s", resetting(resetMonthly)), plain("s", resetting(resetYearly))

	l := newSequenceLog(t, none)
	l.changed(daily) // nothing was granted
	l.changed(none)
	l.gives("s", 3, 0, 1, 3)
	// A shorter period would begin with 1 on the day on which 1 was granted.
	for _, spec := range []*commandv1.SequenceSpec{daily, monthly, yearly} {
		l.refused(wouldRepeats, change(spec, l.seq("s").Generation))
		beyond := proto.CloneOf(spec)
		beyond.Start = 100 // a later change of the start would find these numbers forgotten
		l.refused(wouldRepeats, change(beyond, l.seq("s").Generation))
	}
	l.must(forced(change(daily, l.seq("s").Generation)))
	if q := l.seq("s"); q.Period != 0 || q.Next != 4 {
		t.Errorf("%+v, but no period began", q)
	}
	if b := l.gives("s", 3, 20250302, 1, 3); b.Period != 20250302 {
		t.Errorf("%+v", b)
	}
	for _, spec := range []*commandv1.SequenceSpec{none, monthly, yearly} {
		l.refused(wouldRepeats, change(spec, l.seq("s").Generation))
	}
	l.must(forced(change(monthly, l.seq("s").Generation)))
	if b := l.gives("s", 1, 20250301, 4, 1); b.Period != 20250302 {
		t.Errorf("%+v, but the period moved backwards", b)
	}
	l.gives("s", 1, 20250401, 1, 1)
	l.refused(wouldRepeats, change(daily, l.seq("s").Generation))
	l.refused(wouldRepeats, change(yearly, l.seq("s").Generation))
	l.must(forced(change(daily, l.seq("s").Generation)))
	l.gives("s", 1, 20250401, 2, 1)
	l.gives("s", 1, 20250402, 1, 1)
	l.must(forced(change(none, l.seq("s").Generation)))
	if b := l.gives("s", 1, 0, 2, 1); b.Period != 20250402 {
		t.Errorf("%+v, but the period moved backwards", b)
	}
	l.survives()
}

// A change of the description costs no number: processes keep their blocks, requests for blocks that were decided before it count, and
// the last block can still be returned. It still is a change of the sequence: another change that was decided before it is refused.
func TestDescriptionCostsNoNumber(t *testing.T) {
	spec := plain("s")
	l := newSequenceLog(t, spec)
	before := l.seq("s")
	block := l.take("s", 10, 0)
	described := proto.CloneOf(spec)
	described.Description = "what we sold"
	l.must(change(described, before.Generation))
	after := l.seq("s")
	if after.Generation != l.index || after.Numbering != before.Numbering || after.Next != 11 {
		t.Errorf("described: %+v after %+v", after, before)
	}
	l.survives()
	if next := l.must(allocate("s", before.Generation, 5, 0)).Block; next.First != 11 || next.Generation != block.Generation {
		t.Errorf("the next block: %+v after %+v", next, block)
	} else {
		l.must(change(spec, after.Generation))
		l.must(giveBack("s", next.Token, 5))
	}
	l.refused(mismatchedGen, change(described, after.Generation))
	l.refused(mismatchedGen, allocate("s", l.index+1, 5, 0))
	spec.Format = "S{seq}"
	l.must(change(spec, l.seq("s").Generation))
	if now := l.seq("s"); now.Numbering != l.index {
		t.Errorf("another format: %+v", now)
	}
	l.refused(mismatchedGen, allocate("s", after.Generation, 5, 0))
}
