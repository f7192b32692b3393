package fsm

import (
	"testing"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// TestRestoreLeavesNumbersUnknown restores a sequence with open, free, void and confirmed numbers.
func TestRestoreLeavesNumbersUnknown(t *testing.T) {
	l := newLedgerLog(t, plain("inv", reusing))
	var all []Reservation
	for _, key := range []string{"confirmed", "open", "void", "free"} {
		all = append(all, l.reserves("inv", 0, key))
	}
	l.must(confirm("inv", claimOf(all[0])))
	l.must(void("inv", "canceled", claimOf(all[2])))
	l.must(neverCommitted(void("inv", "never paid", claimOf(all[3]))))
	l.restore(nil)
	l.refused(frozen, reserveIn("inv", l.seq("inv").Generation, 0, "new"))
	l.refused(frozen, confirm("inv", claimOf(all[1])))
	l.refused(wouldRepeats, resume("inv", l.seq("inv").Generation, new(int64(3)), 0))
	l.must(resume("inv", l.seq("inv").Generation, new(int64(6)), 1))
	l.survives()
	if q, a := l.seq("inv"), l.Account("inv", 0); q.Next != 8 || q.Unknown != 5 || q.Open != 0 || a.Confirmed != 1 || a.Void != 1 || a.Unknown != 5 || a.Last != 7 {
		t.Fatalf("%+v, %+v", q, a)
	}

	l.refused(unresolvedKey, confirm("inv", claimOf(all[1])))
	l.refused(unresolvedKey, neverCommitted(void("inv", "r", claimOf(all[1]))))
	l.refused(unresolvedKey, reserveIn("inv", l.seq("inv").Generation, 0, "open"))
	l.must(confirm("inv", claimOf(all[0]))) // frees nothing
	if r := l.reserves("inv", 0, "new"); r.Number != 8 {
		t.Errorf("%+v, want no reuse after a restore", r)
	}
	l.refused(settledBefore, resolve("inv", 0, 1, 1, false))
	l.refused(invalidArgument, resolve("inv", 0, 9, 1, true))
	l.must(resolve("inv", 0, 2, 1, true))
	l.must(resolve("inv", 0, 2, 1, true))
	l.refused(settledBefore, resolve("inv", 0, 2, 1, false))
	l.must(resolve("inv", 0, 4, 4, false))
	l.survives()
	l.refused(unknownKey, confirm("inv", claimOf(all[1])))
	if r := l.reserves("inv", 0, "open"); r.Number != 9 || r.Fate != fateOpen {
		t.Errorf("%+v, want another number: the one that was resolved as used may be that of another key", r)
	}
	if a := l.Account("inv", 0); a.Confirmed != 2 || a.Void != 5 || a.Unknown != 0 || a.Open != 2 {
		t.Errorf("%+v", a)
	}
	if f := l.FatesOf("inv", 0, 4, 1); f[0].Voids != 2 || f[0].Reusable {
		t.Errorf("%+v, want the history of the number", f)
	}
}

// TestRestoreCutsPeriods restores a sequence of which the earlier cluster may have begun later periods.
func TestRestoreCutsPeriods(t *testing.T) {
	l := newLedgerLog(t, plain("inv", reusing, resetting(resetDaily)))
	day := l.seq("inv").Period
	r := l.reserves("inv", day, "a")
	l.restore(func(r *Restoration) { r.OldEndedMillis = epoch + 3*24*livesHour })
	q := l.seq("inv")
	if a := l.Account("inv", day); q.Period <= day || !a.Cut || !a.Closed || a.Unknown != 1 {
		t.Fatalf("%+v, %+v", q, a)
	}
	l.must(resume("inv", q.Generation, nil, 0))
	l.refused(exhaustedReas, reserveIn("inv", l.seq("inv").Generation, q.Period, "b"))
	// The earlier cluster drew 2 and 3 after the backup, by the database, and 1 of another day.
	l.must(resolve("inv", day, 3, 1, true))
	if a := l.Account("inv", day); a.Last != 3 || a.Unknown != 2 || a.Confirmed != 1 {
		t.Errorf("%+v", a)
	}
	between := q.Period - 1
	l.must(resolve("inv", between, 1, 1, false))
	if a := l.Account("inv", between); a.Void != 1 || !a.Cut {
		t.Errorf("%+v", a)
	}
	l.refused(invalidArgument, resolve("inv", q.Period+1, 1, 1, true))
	l.must(resolve("inv", day, r.Number, 2, false))
	if r := l.reserves("inv", q.Period+1, "a"); r.Number != 1 || r.Period != q.Period+1 {
		t.Errorf("%+v", r)
	}
	l.survives()
}

// TestReplayLeavesNumbersUnknown replays the end of a log that may not be committed.
func TestReplayLeavesNumbersUnknown(t *testing.T) {
	l := newLedgerLog(t, plain("inv", reusing))
	a, b := l.reserves("inv", 0, "a"), l.reserves("inv", 0, "b")
	l.must(neverCommitted(void("inv", "never paid", claimOf(b))))
	g := l.seq("inv").Generation
	after, _ := l.replayed(
		at(epoch, confirm("inv", claimOf(a))), at(epoch, reserveIn("inv", g, 0, "c", "d")), at(epoch, takeIn("inv", g, 0, 7, 1)),
	)
	got := after.Account("inv", 0)
	want := Account{First: 1, Last: 7, Some: true, Unknown: 4, Missing: 3}
	if got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if page := after.OpenReservations("inv", 0, "", 10); len(page) != 0 {
		t.Errorf("%+v are open", page)
	}
}

// TestMergeLeavesNumbersUnknown merges two branches of a history.
func TestMergeLeavesNumbersUnknown(t *testing.T) {
	l := newLedgerLog(t, plain("inv", accounted))
	a, b := l.reserves("inv", 0, "a"), l.reserves("inv", 0, "b")
	other := &log{State: mustRead(t, snapshotBytes(t, l.State)), t: t, index: l.index}
	l.must(confirm("inv", claimOf(a)))
	other.must(void("inv", "canceled", claimOf(a)))
	other.reserves("inv", 0, "c")
	if err := l.Merge(other.State); err != nil {
		t.Fatal(err)
	}
	kinds := map[int64]commandv1.FateKind{}
	for _, f := range l.FatesOf("inv", 0, FirstFate, 10) {
		kinds[f.First] = f.Kind
	}
	if len(kinds) != 3 || kinds[1] != fateUnknown || kinds[b.Number] != fateOpen || kinds[3] != fateUnknown {
		t.Errorf("%v", kinds)
	}
	l.restore(nil)
}

// TestPeriodsBeforeTheLedgerAreClosed draws no late number of a period in which the ledger does not have all numbers.
func TestPeriodsBeforeTheLedgerAreClosed(t *testing.T) {
	const closed = commandv1.Refusal_REFUSAL_PERIOD_CLOSED
	latest := func(s *commandv1.SequenceSpec) { s.Mode, s.LateMs = gapless, 24*livesHour }
	daily := func(mode func(*commandv1.SequenceSpec)) *commandv1.SequenceSpec {
		return plain("inv", resetting(resetDaily), mode)
	}
	strict := func(s *commandv1.SequenceSpec) { s.LateMs = 24 * livesHour }
	late := func(l *log, period int32) *commandv1.Command {
		cmd := reserveIn("inv", l.seq("inv").Generation, 20250102, "late")
		cmd.GetReserveNumbers().OnlyPeriod = period
		return cmd
	}
	t.Run("created", func(t *testing.T) {
		l := newLedgerLog(t, daily(latest))
		l.refused(closed, late(l, 20241231))
		if r := l.must(late(l, 20250101)).Reservations[0]; r.Number != 1 || r.Period != 20250101 {
			t.Errorf("%+v, want the first number of the first day", r)
		}
		l.survives()
	})
	t.Run("changed to gapless", func(t *testing.T) {
		l := newLedgerLog(t, daily(strict))
		l.must(at(epoch, change(daily(latest), l.seq("inv").Generation)))
		l.refused(closed, late(l, 20241231))
	})
	t.Run("after a deleted sequence", func(t *testing.T) {
		l := newLedgerLog(t, daily(strict))
		l.must(at(epoch, allocate("inv", l.seq("inv").Generation, 7, 20250101)))
		l.must(at(epoch, remove("inv")))
		again := daily(latest)
		again.Start = 8
		l.must(at(epoch, create(again, 20250101)))
		again.Start = 1
		l.must(at(epoch, forced(change(again, l.seq("inv").Generation))))
		l.reserves("inv", 20250102, "a")
		if r := l.must(late(l, 20250101)).Reservations[0]; r.Number != 8 || r.Period != 20250101 {
			t.Errorf("%+v, want the number after those of the deleted sequence", r)
		}
		l.survives()
	})
}

// TestLateReservations reserves numbers of an ended period, before and after a restore.
func TestLateReservations(t *testing.T) {
	const closed = commandv1.Refusal_REFUSAL_PERIOD_CLOSED
	l := newLedgerLog(t, plain("inv", reusing, resetting(resetDaily), func(s *commandv1.SequenceSpec) { s.LateMs = 24 * livesHour }))
	day := l.seq("inv").Period
	late := func(open int32, key string) *commandv1.Command {
		cmd := reserveIn("inv", l.seq("inv").Generation, day+1, key)
		cmd.GetReserveNumbers().OnlyPeriod, cmd.GetReserveNumbers().OpenFrom = day, open
		return cmd
	}
	first := l.reserves("inv", day, "a")
	l.must(neverCommitted(void("inv", "never paid", claimOf(first))))
	l.reserves("inv", day+1, "b")
	if r := l.must(late(day, "late")).Reservations[0]; r.Period != day || r.Number != 2 {
		t.Fatalf("%+v, want the next number of the ended period", r)
	}
	l.survives()
	l.restore(nil)
	l.must(resume("inv", l.seq("inv").Generation, new(int64(9)), 0))
	l.refused(frozen, late(day, "more"))
	again := resume("inv", l.seq("inv").Generation, new(int64(1)), 0)
	again.GetResumeSequence().Period = day
	l.refused(wouldRepeats, again)
	again.GetResumeSequence().After = new(int64(4))
	l.must(again)
	if r := l.must(late(day, "more")).Reservations[0]; r.Period != day || r.Number != 5 {
		t.Fatalf("%+v, want the number after the stated last one", r)
	}
	l.survives()
	l.refused(closed, late(day+1, "closed"))
	if r := l.must(late(day+1, "more")).Reservations[0]; r.Attempt != 2 {
		t.Errorf("%+v: an open reservation stands after its period closed", r)
	}
	l.refused(closed, late(day, "closed"))
}
