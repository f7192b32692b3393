package fsm

import (
	"errors"
	"math"
	"testing"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

func TestFrozenSequences(t *testing.T) {
	l := newSequenceLog(t, plain("live"), plain("down", numbers(0, -10, math.MinInt64, 100)), plain("gone"), plain("empty"))
	l.take("live", 10, 0)
	l.take("down", 3, 0)
	l.take("gone", 5, 0)
	l.must(remove("gone"))
	answered := l.must(withID(allocate("live", l.seq("live").Generation, 5, 0), "request")).Block
	l.restore(nil)

	live := l.seq("live")
	if again := l.must(withID(allocate("live", live.Generation, 5, 0), "request")).Block; again.First != answered.First || !again.Repeated {
		t.Errorf("the repeated request got %+v, want %+v", again, answered)
	}
	for _, cmd := range []*commandv1.Command{
		allocate("live", live.Generation, 1, 0), withID(allocate("live", live.Generation, 1, 0), "other"), change(live.Spec, live.Generation),
		forced(set(live.Spec, live.Generation, 500)), remove("live"), create(plain("live"), 0), create(plain("gone"), 0), forced(create(plain("gone"), 0)),
	} {
		l.refused(frozen, cmd)
	}
	if last, _, err := live.LastGranted(); !errors.Is(err, &Refused{Reason: frozen}) {
		t.Errorf("the last number of a frozen sequence is %d, %v", last, err)
	}
	l.refused(unacknowledged, create(plain("new"), 0))
	l.refused(mismatchedGen, acknowledge(l.Restored().GetIndex()-1))
	l.must(acknowledge(l.Restored().GetIndex()))
	l.must(create(plain("new"), 0))
	if page := l.Frozen("", 10); l.FrozenCount() != 4 || len(page) != 4 || page[2].Spec.GetName() != "gone" || !page[2].Deleted || page[3].Deleted {
		t.Fatalf("%d frozen: %+v", l.FrozenCount(), page)
	}

	l.refused(mismatchedGen, resume("live", live.Generation+1, nil, 0))
	l.refused(wouldRepeats, resume("live", live.Generation, new(int64(14)), 1000))
	if q := l.must(resume("live", live.Generation, new(int64(15)), 5)).Sequence; q.Next != 21 || q.Frozen {
		t.Errorf("%+v, want 21 next", q)
	}
	l.refused(mismatchedGen, resume("live", live.Generation, nil, 0))
	l.refused(commandv1.Refusal_REFUSAL_INVALID_ARGUMENT, resume("live", l.seq("live").Generation, nil, 0))
	// The earlier cluster may have granted any number that comes before the next one.
	l.refused(wouldRepeats, set(plain("live", numbers(-100, 1, -100, 10)), l.seq("live").Generation, -100))
	if q := l.must(resume("down", l.seq("down").Generation, new(int64(-25)), 1)).Sequence; q.Next != -40 {
		t.Errorf("%+v, want -40 next", q)
	}
	if q := l.must(resume("empty", l.seq("empty").Generation, nil, 0)).Sequence; q.Next != 1 {
		t.Errorf("%+v, want 1 next", q)
	}
	l.must(resume("gone", l.DeletedGeneration("gone"), new(int64(9)), 0))
	l.survives()
	l.refused(wouldRepeats, create(plain("gone", numbers(9, 1, 1, 100)), 0))
	l.must(create(plain("gone", numbers(10, 1, 1, 100)), 0))
	l.refused(unknownSeq, resume("unheard of", 1, nil, 0))
	if l.FrozenCount() != 0 || l.Frozen("", 1) != nil {
		t.Errorf("%d frozen", l.FrozenCount())
	}
	l.survives()
}

func TestResumeAtEnd(t *testing.T) {
	for _, c := range []struct {
		spec   *commandv1.SequenceSpec
		after  *int64
		margin uint64
		left   uint64
	}{
		{plain("s"), new(int64(math.MaxInt64)), 0, 0},
		{plain("s"), new(int64(math.MaxInt64 - 1)), 0, 1},
		{plain("s"), new(int64(math.MaxInt64 - 1)), 1, 0},
		{plain("s"), nil, math.MaxUint64, 0},
		{plain("s", numbers(math.MaxInt64, 1, 1, math.MaxInt64)), nil, 0, 0}, // all granted
		{plain("s", numbers(0, -1, math.MinInt64, 1)), new(int64(math.MinInt64)), 0, 0},
		{plain("s", numbers(0, -1, math.MinInt64, 1)), new(int64(math.MinInt64 + 1)), 0, 1},
		{plain("s", numbers(0, math.MinInt64, math.MinInt64, 1)), nil, 0, 1},
		{plain("s", numbers(1, 1, 1, 10)), new(int64(20)), 0, 0}, // beyond the maximum
	} {
		l := newSequenceLog(t, c.spec)
		l.take("s", 1, 0)
		l.restore(nil)
		q := l.must(resume("s", l.seq("s").Generation, c.after, c.margin)).Sequence
		if q.Remaining != c.left {
			t.Errorf("%v after %v: %+v, want %d left", c.spec, c.after, q, c.left)
		}
		l.survives()
		if c.left == 0 {
			l.refused(exhaustedReas, allocate("s", q.Generation, 1, 0))
			l.refused(wouldRepeats, set(c.spec, q.Generation, 1))
		}
	}
}

func TestSkippedPeriods(t *testing.T) {
	daily := func(name string) *commandv1.SequenceSpec { return plain(name, resetting(resetDaily)) }
	l := newLog(t)
	for _, name := range []string{"a", "b", "gone", "later"} {
		l.must(create(daily(name), 20250101))
		l.take(name, 5, 20250101)
	}
	l.take("later", 5, 20250109)
	l.must(remove("gone"))
	l.restore(func(r *Restoration) { r.OldEndedMillis = epoch + 86_400_000 - 1000 }) // the next day began with both offsets

	if q := l.seq("a"); q.Period != 20250102 || q.Remaining != 0 {
		t.Errorf("%+v, want the day after with nothing left", q)
	}
	if q := l.seq("later"); q.Period != 20250109 || q.Next != 6 {
		t.Errorf("%+v, want it as it was", q)
	}
	l.must(resume("a", l.seq("a").Generation, nil, 1000))
	l.empty("a", 20250101)
	l.empty("a", 20250102)
	l.refused(wouldRepeats, set(daily("a"), l.seq("a").Generation, 1000))
	l.survives()
	l.gives("a", 1, 20250103, 1, 1)
	l.must(resume("b", l.seq("b").Generation, new(int64(3)), 0))
	l.gives("b", 1, 20250101, 4, 1)
	l.gives("b", 1, 20250103, 1, 1)
	l.must(resume("gone", l.DeletedGeneration("gone"), nil, 0))
	l.refused(wouldRepeats, create(daily("gone"), 20250102))
	l.survives()
	l.must(create(daily("gone"), 20250103))
	l.survives()
}

// A time zone may have been changed after the backup, and the time zone of a deleted sequence is not remembered.
func TestSkippedPeriodsOfAnyZone(t *testing.T) {
	l := newLog(t)
	for _, name := range []string{"live", "gone"} {
		l.must(create(plain(name, resetting(resetDaily)), 20250101))
		l.take(name, 5, 20250101)
	}
	l.must(remove("gone"))
	ended := func(r *Restoration) { r.OldEndedMillis = epoch + 11*3_600_000 }
	kept := &log{State: mustRead(t, snapshotBytes(t, l.State)), t: t}
	kept.restore(ended)
	if q := kept.seq("live"); q.Period != 20250101 || kept.Frozen("", 1)[0].Period != 20250102 {
		t.Errorf("%+v and %+v", q, kept.Frozen("", 1))
	}
	l.restore(func(r *Restoration) { ended(r); r.ZonesKept = false })
	if q := l.seq("live"); q.Period != 20250102 || q.Remaining != 0 {
		t.Errorf("%+v, want the day that began first somewhere", q)
	}
}

// The earlier cluster may have given a reset to a sequence after the backup, in a time zone where the day of the floor
// began first.
func TestSuccessorWithResetSkipsPeriods(t *testing.T) {
	for _, c := range []struct {
		before commandv1.SequenceReset
		period int32
		after  commandv1.SequenceReset
		years  uint32
		days   int64 // after the epoch, on which the earlier cluster ended
		first  int32 // period in UTC
		floor  int32 // last period that the earlier cluster may have begun
		next   int32
	}{
		{resetNone, 0, resetDaily, 0, 0, 20250101, 20250102, 20250103},
		{resetMonthly, 20250101, resetDaily, 0, 0, 20250101, 20250102, 20250103}, // loses its reset when it is resumed
		{resetNone, 0, resetMonthly, 0, 0, 20250101, 20250101, 20250201},
		{resetNone, 0, resetWeekly, 0, 0, 20241230, 20241230, 20250106},
		{resetNone, 0, resetWeekly, 0, 4, 20241230, 20250106, 20250113}, // ended on a Sunday, which was a Monday somewhere
		{resetNone, 0, resetQuarterly, 102, 0, 20241002, 20250102, 20250402},
		{resetNone, 0, resetYearly, 102, 0, 20240102, 20250102, 20260102},
		{resetNone, 0, resetYearly, 401, 0, 20240401, 20240401, 20250401},
	} {
		l := newLog(t)
		l.must(create(plain("s", resetting(c.before)), c.period))
		l.restore(func(r *Restoration) { r.OldEndedMillis = epoch + c.days*dayMillis + 11*3_600_000 })
		l.must(raise(DocumentVersion))
		l.must(resume("s", l.seq("s").Generation, new(int64(1)), 0))
		l.must(remove("s"))
		q := l.must(create(plain("s", numbers(2, 1, 1, 100), resetting(c.after), years(c.years)), c.first)).Sequence
		l.must(change(plain("s", numbers(1, 1, 1, 100), resetting(c.after), years(c.years)), q.Generation))
		l.survives()
		l.gives("s", 1, c.first, 2, 1)
		l.gives("s", 1, c.floor, 3, 1)
		l.gives("s", 1, c.next, 1, 1)
	}
}

// A sequence of which nothing was granted may have lost its reset after the backup.
func TestResumeWithoutReset(t *testing.T) {
	for _, c := range []struct {
		after  *int64
		margin uint64
		reset  commandv1.SequenceReset
		next   int64
	}{
		{new(int64(5)), 0, resetNone, 6},
		{nil, 100, resetNone, 101},
		{nil, 0, resetDaily, 0}, // nothing was granted since either
	} {
		l := newLog(t)
		l.must(create(plain("d", resetting(resetDaily)), 20250101))
		l.restore(func(r *Restoration) { r.OldEndedMillis = epoch + 100_000_000 })
		q := l.must(resume("d", l.seq("d").Generation, c.after, c.margin)).Sequence
		if q.Spec.GetReset_() != c.reset || q.Next != c.next {
			t.Errorf("after %v, margin %d: %+v, want the reset %v and %d next", c.after, c.margin, q, c.reset, c.next)
		}
		l.survives()
		if c.reset == resetDaily {
			l.gives("d", 1, 20250103, 1, 1)
		}
	}
}
