package fsm

import (
	"math"
	"testing"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

const (
	periodClosed  = commandv1.Refusal_REFUSAL_PERIOD_CLOSED
	periodUnknown = commandv1.Refusal_REFUSAL_PERIOD_UNKNOWN
	seqFrozen     = commandv1.Refusal_REFUSAL_SEQUENCE_FROZEN

	lateMillis = 45 * dayMillis
)

// lately gives a sequence a reset and late numbers.
func lately(r commandv1.SequenceReset) func(*commandv1.SequenceSpec) {
	return func(s *commandv1.SequenceSpec) { s.Reset_, s.LateMs = r, lateMillis }
}

// of wants numbers of one period only. The proposer's clock is in period, and open is the first open one.
func of(only int32, cmd *commandv1.Command, open int32) *commandv1.Command {
	c := cmd.GetAllocateBlock()
	c.OnlyPeriod, c.OpenFrom, c.ReturnKeyHash = only, open, nil
	return cmd
}

// stated states the next number of the wanted period.
func stated(from int64, cmd *commandv1.Command) *commandv1.Command {
	cmd.GetAllocateBlock().From = new(from)
	return cmd
}

// sep to dec are the months of the tests.
const (
	sep = int32(20260901)
	oct = int32(20261001)
	nov = int32(20261101)
	dec = int32(20261201)
)

// newLateLog has a monthly sequence s whose numbers 1 to 10 were granted in October.
func newLateLog(t *testing.T, changes ...func(*commandv1.SequenceSpec)) *log {
	l := newLog(t)
	l.must(create(plain("s", append([]func(*commandv1.SequenceSpec){lately(resetMonthly)}, changes...)...), oct))
	l.gives("s", 10, oct, 1, 10)
	return l
}

// late requests numbers of an earlier period.
func (l *log) late(count uint64, only, now int32) *commandv1.Command {
	return of(only, whole(allocate("s", l.seq("s").Generation, count, now)), 0)
}

// getsLate expects late numbers.
func (l *log) getsLate(count uint64, only, now int32, first int64) {
	l.t.Helper()
	if b := l.must(l.late(count, only, now)).Block; b.First != first || b.Count != count || b.Period != only {
		l.t.Fatalf("%d late numbers of %d: %+v, want them from %d on", count, only, b, first)
	}
}

func TestLateNumbersFollowAllThatWereGranted(t *testing.T) {
	l := newLateLog(t)
	l.getsLate(1, oct, oct, 11) // the present one
	l.gives("s", 5, oct, 12, 5)
	b := l.gives("s", 100, oct, 17, 100)
	l.must(giveBack("s", b.Token, 50)) // they were not issued
	b = l.gives("s", 3, oct, 67, 3)
	l.getsLate(2, oct, nov, 70) // begins November
	l.refused(notLast, giveBack("s", b.Token, 3))
	l.gives("s", 4, nov, 1, 4)
	l.getsLate(1, oct, nov, 72)
	l.gives("s", 1, nov, 5, 1)
	l.survives()
	l.getsLate(1, oct, oct, 73)
	l.refused(invalidArgument, l.late(1, dec, nov))
	l.getsLate(1, nov, dec, 6)
	l.getsLate(1, oct, dec, 74)
	want := []Ended{{Period: oct, Next: 75, Remaining: math.MaxInt64 - 74}, {Period: nov, Next: 7, Remaining: math.MaxInt64 - 6}}
	if got := l.seq("s").Ended(); len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("%+v, want %+v", got, want)
	}
	l.survives()
}

func TestLateNumbersAreBounded(t *testing.T) {
	l := newLateLog(t, numbers(1, 3, 1, 40))
	l.gives("s", 1, nov, 1, 1) // October granted up to 28
	l.refused(exhaustedReas, l.late(5, oct, nov))
	l.getsLate(4, oct, nov, 31)
	l.refused(exhaustedReas, l.late(1, oct, nov))
	q := l.seq("s")
	q.Spec.Max = math.MaxInt64
	l.must(change(q.Spec, q.Generation))
	l.getsLate(1, oct, nov, 43)
	q = l.seq("s")
	q.Spec.Increment, q.Spec.Min, q.Spec.Start = -2, math.MinInt64, -4
	l.must(forced(change(q.Spec, q.Generation)))
	l.getsLate(1, oct, nov, -1) // before all that were granted, in steps from 43
}

func TestLateNumbersOfUnknownPeriods(t *testing.T) {
	l := newLog(t)
	l.must(create(plain("s", resetting(resetMonthly)), sep))
	l.gives("s", 5, sep, 1, 5)
	l.refused(periodClosed, l.late(1, sep, oct))
	q := l.seq("s")
	q.Spec.LateMs = lateMillis
	cmd := change(q.Spec, q.Generation)
	cmd.GetUpdateSequence().Period = oct
	l.must(cmd)
	l.gives("s", 2, oct, 1, 2)
	l.refused(periodUnknown, l.late(1, sep, oct))
	l.getsLate(1, oct, oct, 3)
	l.gives("s", 1, nov, 1, 1)
	l.refused(periodUnknown, l.late(1, oct, nov)) // began before numbers could be late
	l.refused(invalidArgument, stated(0, l.late(1, oct, nov)))
	l.must(stated(30, l.late(2, oct, nov)))
	l.refused(invalidArgument, stated(30, l.late(1, oct, nov)))
	l.getsLate(1, oct, nov, 32)
	l.must(stated(6, l.late(1, sep, nov)))
	l.refused(invalidArgument, stated(2, l.late(1, nov, nov)))
	l.gives("s", 1, dec, 1, 1)
	l.getsLate(1, nov, dec, 2) // began after
	l.survives()
}

func TestPeriodsClosePermanently(t *testing.T) {
	l := newLateLog(t)
	l.gives("s", 1, nov, 1, 1)
	closing := of(nov, l.late(1, nov, dec), nov)
	l.must(closing)
	for _, c := range []*commandv1.Command{l.late(1, oct, dec), of(oct, l.late(1, oct, dec), sep), stated(90, l.late(1, oct, dec))} {
		l.refused(periodClosed, c)
	}
	l.survives()
	q := l.seq("s")
	q.Spec.LateMs = 2 * lateMillis
	l.must(change(q.Spec, q.Generation))
	l.refused(periodClosed, stated(90, l.late(1, oct, dec)))
	l.getsLate(1, nov, dec, 3)
	l.must(remove("s"))
	l.must(create(plain("s", lately(resetMonthly)), dec))
	l.refused(periodClosed, stated(90, l.late(1, oct, dec)))
	l.getsLate(1, nov, dec, 4)
	// Without late numbers, all earlier periods close.
	q = l.seq("s")
	q.Spec.LateMs = 0
	l.must(change(q.Spec, q.Generation))
	l.refused(periodClosed, l.late(1, nov, dec))
	q = l.seq("s")
	q.Spec.LateMs = lateMillis
	l.must(change(q.Spec, q.Generation))
	l.refused(periodClosed, stated(90, l.late(1, nov, dec)))
	l.survives()
}

func TestDeletionKeepsEnds(t *testing.T) {
	l := newLateLog(t)
	l.getsLate(1, oct, nov, 11) // nothing was granted in November
	l.must(remove("s"))
	l.survives()
	l.must(create(plain("s", lately(resetMonthly)), nov))
	l.getsLate(1, oct, nov, 12)
	l.gives("s", 3, nov, 1, 3)
	l.must(remove("s"))
	l.must(create(plain("s", lately(resetMonthly)), dec))
	l.getsLate(1, nov, dec, 4)
	l.getsLate(1, oct, dec, 13)
	l.survives()
	// A sequence whose only numbers are late ones is remembered too.
	l.must(create(plain("t", lately(resetMonthly)), nov))
	l.must(stated(7, of(oct, whole(allocate("t", l.seq("t").Generation, 1, nov)), 0)))
	l.must(remove("t"))
	l.must(create(plain("t", lately(resetMonthly)), nov))
	if got := l.seq("t").Ended(); len(got) != 1 || got[0].Next != 8 {
		t.Errorf("%+v, want October to continue with 8", got)
	}
	l.survives()
}

func TestLateNumbersOfRequestsWithIDs(t *testing.T) {
	l := newLateLog(t)
	l.gives("s", 1, nov, 1, 1)
	ask := func(only int32, count uint64) *commandv1.Command {
		cmd := whole(withID(allocate("s", l.seq("s").Generation, count, nov), "r"))
		return of(only, cmd, 0)
	}
	first := l.must(ask(oct, 2)).Block
	l.survives()
	if again := l.must(ask(oct, 2)).Block; !again.Repeated || again.First != first.First || again.Period != oct {
		t.Errorf("again: %+v, want %+v", again, first)
	}
	l.refused(idReused, ask(nov, 2))
	l.refused(idReused, ask(oct, 1))
	l.getsLate(1, oct, nov, 13)
}

func TestLateIsChecked(t *testing.T) {
	l := newLateLog(t)
	l.refused(invalidArgument, create(plain("x", func(s *commandv1.SequenceSpec) { s.LateMs = lateMillis }), 0))
	for _, ms := range []int64{-1, 999, 366*dayMillis + 1} {
		l.refused(invalidArgument, create(plain("x", lately(resetDaily), func(s *commandv1.SequenceSpec) { s.LateMs = ms }), oct))
	}
	returnable := l.late(1, oct, nov)
	returnable.GetAllocateBlock().ReturnKeyHash = returnKeyHash
	l.refused(invalidArgument, returnable)
	l.refused(invalidArgument, stated(1, allocate("s", l.seq("s").Generation, 1, nov)))
	l.refused(invalidArgument, of(oct, l.late(1, oct, nov), 20261301))
	l.refused(invalidArgument, l.late(1, 20261301, nov))
	l.must(create(plain("none"), 0))
	l.refused(invalidArgument, of(oct, allocate("none", l.seq("none").Generation, 1, 0), 0))
	q := l.seq("s")
	bad := change(q.Spec, q.Generation)
	bad.GetUpdateSequence().OpenFrom = 7
	l.refused(invalidArgument, bad)
	old := newLog(t)
	old.version = 2
	stamped := create(plain("s", lately(resetMonthly)), oct)
	stamped.Version = MinVersion(stamped)
	old.refused(commandv1.Refusal_REFUSAL_VERSION_TOO_LOW, stamped)
}

func TestEndedPeriodsAreLimited(t *testing.T) {
	l := newLog(t)
	day := func(i int) int32 { return int32(20260000 + (1+i/28%12)*100 + 1 + i%28 + i/336*10_000) }
	l.must(create(plain("s", lately(resetDaily)), day(0)))
	const days = maxEnded + 20
	for i := range days {
		l.gives("s", 1, day(i), 1, 1)
	}
	if got := l.seq("s").Ended(); len(got) != maxEnded || got[0].Period != day(days-1-maxEnded) || l.sequences.ended != maxEnded {
		t.Errorf("%d ended periods from %d on, %d of all", len(got), got[0].Period, l.sequences.ended)
	}
	l.refused(periodClosed, l.late(1, day(1), day(days-1)))
	l.survives()
	if l.sequences.ended != maxEnded {
		t.Errorf("%d ended periods after a restart", l.sequences.ended)
	}
	l.sequences.ended = maxAllEnded
	l.gives("s", 1, day(days), 1, 1)
	l.refused(periodUnknown, l.late(1, day(days-1), day(days)))
	l.refused(limitReached, stated(2, l.late(1, day(days-1), day(days))))
	l.sequences.ended = maxEnded
	l.must(remove("s"))
	if l.sequences.ended != maxEnded {
		t.Errorf("%d ended periods after the deletion", l.sequences.ended)
	}
}

// resumePeriod resumes a period that ended.
func resumePeriod(period int32, cmd *commandv1.Command) *commandv1.Command {
	cmd.GetResumeSequence().Period = period
	return cmd
}

func TestRestoreClosesEarlierPeriods(t *testing.T) {
	const jan, feb, dec24, nov24, oct24 = int32(20250101), int32(20250201), int32(20241201), int32(20241101), int32(20241001)
	l := newLog(t)
	l.must(create(plain("s", lately(resetMonthly)), nov24))
	l.gives("s", 10, nov24, 1, 10)
	l.gives("s", 5, dec24, 1, 5)
	l.getsLate(1, nov24, dec24, 11)
	l.restore(nil) // January
	l.refused(seqFrozen, l.late(1, nov24, jan))
	l.refused(seqFrozen, resumePeriod(nov24, resume("s", l.seq("s").Generation, new(int64(20)), 0)))
	l.must(resume("s", l.seq("s").Generation, new(int64(7)), 0))
	for _, c := range []*commandv1.Command{l.late(1, nov24, jan), l.late(1, dec24, jan), stated(90, l.late(1, oct24, jan)), stated(90, l.late(1, dec24, jan))} {
		l.refused(seqFrozen, c)
	}
	back := func(period int32, after *int64, margin uint64) *commandv1.Command {
		return resumePeriod(period, resume("s", l.seq("s").Generation, after, margin))
	}
	l.refused(wouldRepeats, back(nov24, new(int64(10)), 0))
	l.refused(wouldRepeats, back(dec24, new(int64(4)), 0))
	l.refused(invalidArgument, back(oct24, nil, 0))
	l.refused(invalidArgument, back(jan, new(int64(4)), 0))
	l.refused(mismatchedGen, resumePeriod(nov24, resume("s", 1, new(int64(20)), 0)))
	l.must(back(nov24, nil, 0))
	numbering := l.seq("s").Numbering
	l.must(back(dec24, new(int64(20)), 4))
	l.must(back(oct24, new(int64(99)), 0))
	if q := l.seq("s"); q.Numbering != numbering || q.Generation != l.index {
		t.Errorf("%+v: a resumed period outdates blocks", q)
	}
	l.survives()
	l.refused(invalidArgument, back(nov24, new(int64(20)), 0))
	l.getsLate(1, nov24, jan, 12)
	l.getsLate(2, dec24, jan, 25)
	l.getsLate(1, oct24, jan, 100)
	l.gives("s", 1, jan, 8, 1)
	l.getsLate(1, jan, feb, 9) // began before the restore, and was resumed
	// A later restore closes them again.
	l.restore(func(r *Restoration) { r.OldEndedMillis, r.NowMillis = epoch+40*dayMillis, epoch+41*dayMillis })
	l.must(resume("s", l.seq("s").Generation, nil, 0))
	for _, period := range []int32{nov24, dec24, oct24, jan} {
		l.refused(seqFrozen, l.late(1, period, 20250301))
	}
}

func TestDeletedSequencesResumePeriods(t *testing.T) {
	const nov24, dec24, feb = int32(20241101), int32(20241201), int32(20250201)
	l := newLog(t)
	l.must(create(plain("s", lately(resetMonthly)), nov24))
	l.gives("s", 10, nov24, 1, 10)
	l.gives("s", 5, dec24, 1, 5)
	l.must(remove("s"))
	l.restore(nil)
	l.must(resume("s", l.DeletedGeneration("s"), nil, 0))
	l.must(resumePeriod(nov24, resume("s", l.DeletedGeneration("s"), new(int64(12)), 0)))
	l.survives()
	l.must(create(plain("s", lately(resetMonthly)), feb))
	l.getsLate(1, nov24, feb, 13)
	l.refused(seqFrozen, l.late(1, dec24, feb))
	l.survives()
}

// A block that was returned in a log that may not be committed counts as granted in its period.
func TestReplayedReturnBeforeTheEnd(t *testing.T) {
	const nov24, dec24 = int32(20241101), int32(20241201)
	l := newLog(t)
	l.must(create(plain("s", lately(resetMonthly)), nov24))
	b := l.gives("s", 10, nov24, 1, 10)
	generation := l.seq("s").Generation
	after, _ := l.replayed(giveBack("s", b.Token, 5), allocate("s", generation, 1, dec24))
	if got := after.seq("s").Ended(); len(got) != 1 || got[0].Next != 11 {
		t.Errorf("%+v, want 11 next", got)
	}
}

func TestMergedEnds(t *testing.T) {
	const nov24, dec24, jan = int32(20241101), int32(20241201), int32(20250101)
	l := newLog(t)
	l.must(create(plain("s", lately(resetMonthly)), nov24))
	l.gives("s", 10, nov24, 1, 10)
	b := l.branches()
	b[0].gives("s", 5, nov24, 11, 5)
	b[1].gives("s", 1, dec24, 1, 1)
	b[1].getsLate(1, nov24, dec24, 11)
	merged(t, b, func(t *testing.T, l *log) {
		l.must(resume("s", l.seq("s").Generation, nil, 0))
		l.must(resumePeriod(nov24, resume("s", l.seq("s").Generation, nil, 0)))
		l.getsLate(1, nov24, jan, 16)
	})
}
