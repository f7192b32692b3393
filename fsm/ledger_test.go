package fsm

import (
	"fmt"
	"math"
	"strings"
	"testing"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// TestReservationLife reserves, repeats, confirms and voids.
func TestReservationLife(t *testing.T) {
	l := newLedgerLog(t, plain("inv", accounted))
	a := l.reserves("inv", 0, "a")
	if a.Number != 1 || a.Attempt != 1 || a.Reservation != l.index || a.Fate != fateOpen {
		t.Fatalf("%+v", a)
	}
	again := l.reserves("inv", 0, "a")
	if again.Number != 1 || again.Attempt != 2 || again.Reservation != a.Reservation || again.ReservedMillis != a.ReservedMillis {
		t.Fatalf("%+v after %+v", again, a)
	}
	l.refused(staleAttempt, confirm("inv", claimOf(a)))
	l.refused(staleAttempt, void("inv", "r", claimOf(a)))
	l.must(confirm("inv", claimOf(again)))
	l.must(confirm("inv", claimOf(again)))
	l.refused(settledBefore, void("inv", "r", claimOf(again)))
	if r := l.reserves("inv", 0, "a"); r.Number != 1 || r.Attempt != 2 || r.Fate != fateConfirmed {
		t.Fatalf("%+v", r)
	}

	b := l.reserves("inv", 0, "b")
	l.must(void("inv", "canceled", claimOf(b)))
	l.must(void("inv", "again", claimOf(b)))
	l.refused(settledBefore, confirm("inv", claimOf(b)))
	if got := l.FatesOf("inv", 0, FirstFate, 10); len(got) != 1 || got[0].First != 2 || got[0].Kind != fateVoid || got[0].Reason != "canceled" {
		t.Fatalf("%+v", got)
	}
	other := l.reserves("inv", 0, "b")
	if other.Number != 3 || other.Reservation == b.Reservation || other.Attempt != 1 {
		t.Fatalf("%+v", other)
	}
	l.refused(staleAttempt, void("inv", "late", claimOf(b)))
	l.refused(unknownKey, confirm("inv", claimOf(Reservation{Key: "c", Reservation: 1, Attempt: 1})))
	l.refused(unknownKey, confirm("inv", claimOf(Reservation{Key: "b", Reservation: other.Reservation, Attempt: 2})))
	l.refused(unknownKey, confirm("inv", claimOf(Reservation{Key: "b", Reservation: other.Reservation + 1, Attempt: 1})))
	want := Account{First: 1, Last: 3, Some: true, Confirmed: 1, Void: 1, Open: 1}
	if got := l.Account("inv", 0); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if q := l.seq("inv"); q.Next != 4 || q.Open != 1 || q.OldestOpenMillis != epoch || q.Remaining != math.MaxInt64-4 {
		t.Errorf("%+v", q)
	}
	l.survives()
}

// TestReservationsOfOneCallStandOrFallTogether has one claim that is refused among others.
func TestReservationsOfOneCallStandOrFallTogether(t *testing.T) {
	l := newLedgerLog(t, plain("inv", accounted, numbers(1, 1, 1, 3)))
	got := l.must(reserveIn("inv", l.seq("inv").Generation, 0, "a", "b")).Reservations
	l.refused(exhaustedReas, reserveIn("inv", l.seq("inv").Generation, 0, "c", "d"))
	l.refused(invalidArgument, reserveIn("inv", l.seq("inv").Generation, 0, "c", "c"))
	l.refused(invalidArgument, reserveIn("inv", l.seq("inv").Generation, 0))
	l.refused(invalidArgument, reserveIn("inv", l.seq("inv").Generation, 0, ""))
	l.refused(invalidArgument, reserveIn("inv", l.seq("inv").Generation, 0, strings.Repeat("x", 129)))
	l.refused(invalidArgument, reserveIn("inv", l.seq("inv").Generation, 0, "a\nb"))
	l.refused(invalidArgument, void("inv", "", claimOf(got[0])))
	l.refused(invalidArgument, void("inv", strings.Repeat("x", 257), claimOf(got[0])))
	l.must(void("inv", "r", claimOf(got[1])))
	l.refused(settledBefore, confirm("inv", claimOf(got[0]), claimOf(got[1])))
	if a := l.Account("inv", 0); a.Open != 1 || a.Confirmed != 0 {
		t.Errorf("%+v", a)
	}
}

// TestReuseIsOptIn voids numbers with and without the word that they can never be committed.
func TestReuseIsOptIn(t *testing.T) {
	l := newLedgerLog(t, plain("inv", reusing), plain("keeps", accounted), plain("daily", reusing, resetting(resetDaily)))
	var all []Reservation
	for i := range 4 {
		all = append(all, l.reserves("inv", 0, fmt.Sprint("k", i)))
	}
	l.must(void("inv", "maybe", claimOf(all[0])))
	l.must(neverCommitted(void("inv", "never", claimOf(all[2]))))
	l.must(neverCommitted(void("inv", "never", claimOf(all[1]))))
	l.survives()
	r := l.reserves("inv", 0, "x")
	if r.Number != 2 {
		t.Fatalf("%+v, want the lowest number that was never committed", r)
	}
	l.must(confirm("inv", claimOf(r)))
	if got := l.FatesOf("inv", 0, 2, 1); got[0].Kind != fateConfirmed || got[0].Voids != 1 || got[0].Reason != "never" {
		t.Errorf("%+v, want the history of the number", got)
	}
	l.refused(staleAttempt, void("inv", "late", &commandv1.ReservationClaim{Key: "x", Reservation: r.Reservation - 1, Attempt: 1}))
	r = l.reserves("inv", 0, "y")
	l.must(void("inv", "for good", claimOf(r)))
	if got := l.FatesOf("inv", 0, 3, 1); r.Number != 3 || got[0].Voids != 2 || got[0].Reusable {
		t.Errorf("%+v: %+v", r, got)
	}
	if r := l.reserves("inv", 0, "z"); r.Number != 5 {
		t.Errorf("%+v, want a new number", r)
	}

	kept := l.reserves("keeps", 0, "a")
	l.must(neverCommitted(void("keeps", "never", claimOf(kept))))
	if r := l.reserves("keeps", 0, "b"); r.Number != 2 {
		t.Errorf("%+v, want no reuse", r)
	}
	day := l.reserves("daily", 20250101, "a")
	l.must(neverCommitted(void("daily", "never", claimOf(day))))
	if r := l.reserves("daily", 20250102, "b"); r.Number != 1 || r.Period != 20250102 {
		t.Errorf("%+v", r)
	}
	if r := l.reserves("daily", 20250101, "c"); r.Number != 2 || r.Period != 20250102 {
		t.Errorf("%+v, want the later period", r)
	}
	if a := l.Account("daily", 20250101); !a.Closed || a.Void != 1 || a.Last != 1 {
		t.Errorf("%+v", a)
	}
	l.survives()
}

// TestTakenNumbersAreNotDrawn takes numbers ahead of the counter.
func TestTakenNumbersAreNotDrawn(t *testing.T) {
	l := newLedgerLog(t, plain("inv", accounted, numbers(1, 1, 1, 20)))
	g := l.seq("inv").Generation
	l.must(takeIn("inv", g, 0, 1, 3))
	l.must(takeIn("inv", g, 0, 1, 3))
	l.must(takeIn("inv", g, 0, 2, 1))
	l.must(takeIn("inv", g, 0, 6, 2))
	l.refused(settledBefore, takeIn("inv", g, 0, 3, 2))
	l.refused(settledBefore, takeIn("inv", g, 0, 5, 2))
	l.refused(invalidArgument, takeIn("inv", g, 0, 0, 1))
	l.refused(invalidArgument, takeIn("inv", g, 0, 20, 2))
	l.refused(invalidArgument, takeIn("inv", g, 0, 9, 0))
	l.refused(invalidArgument, takeIn("inv", g, 0, 9, math.MaxUint64))
	want := Account{First: 1, Last: 7, Some: true, Taken: 5, Missing: 2}
	if got := l.Account("inv", 0); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	var drawn []int64
	for i := range 4 {
		drawn = append(drawn, l.reserves("inv", 0, fmt.Sprint(i)).Number)
	}
	if fmt.Sprint(drawn) != "[4 5 8 9]" {
		t.Errorf("drew %v", drawn)
	}
	l.refused(settledBefore, takeIn("inv", g, 0, 9, 1))
	if q := l.seq("inv"); q.Remaining != 11 || q.Next != 10 {
		t.Errorf("%+v", q)
	}
	l.survives()
}

// TestGaplessSequencesAreNotCounters sends the commands of other sequences to a gapless one, and the reverse.
func TestGaplessSequencesAreNotCounters(t *testing.T) {
	l := newLedgerLog(t, plain("inv", accounted), plain("strict"))
	inv, strict := l.seq("inv"), l.seq("strict")
	l.refused(gaplessReason, allocate("inv", inv.Generation, 1, 0))
	l.refused(gaplessReason, withID(allocate("inv", inv.Generation, 1, 0), "id"))
	l.refused(gaplessReason, forced(set(plain("inv", accounted), inv.Generation, 5)))
	l.refused(notGapless, reserveIn("strict", strict.Generation, 0, "a"))
	l.refused(notGapless, takeIn("strict", strict.Generation, 0, 1, 1))
	l.refused(notGapless, resolve("strict", 0, 1, 1, true))
	l.refused(notGapless, confirm("strict", claimOf(Reservation{Key: "a", Reservation: 1, Attempt: 1})))
	l.refused(unknownSeq, reserveIn("none", 1, 0, "a"))
	l.refused(mismatchedGen, reserveIn("inv", inv.Generation+1, 0, "a"))
	l.refused(invalidArgument, reserveIn("inv", inv.Generation, 20250101, "a"))

	l.must(change(plain("inv"), inv.Generation)) // nothing was drawn
	l.must(change(plain("inv", accounted), l.seq("inv").Generation))
	l.reserves("inv", 0, "a")
	l.refused(invalidArgument, forced(change(plain("inv"), l.seq("inv").Generation)))
	l.refused(invalidArgument, forced(change(plain("inv", accounted, resetting(resetDaily)), l.seq("inv").Generation)))
	l.refused(invalidArgument, remove("inv"))
	l.must(change(plain("inv", reusing, numbers(1, 1, 1, 2)), l.seq("inv").Generation))
	l.reserves("inv", 0, "b")
	l.refused(exhaustedReas, reserveIn("inv", l.seq("inv").Generation, 0, "c"))
	l.take("strict", 1, 0)
	l.refused(invalidArgument, forced(change(plain("strict", accounted), strict.Generation)))
}

// TestGaplessNeedsNewVersion sends the commands to a cluster of fsm_version 2.
func TestGaplessNeedsNewVersion(t *testing.T) {
	const versionTooLow = commandv1.Refusal_REFUSAL_VERSION_TOO_LOW
	l := newLog(t)
	l.must(at(epoch, raise(2)))
	for _, cmd := range []*commandv1.Command{
		create(plain("inv", accounted), 0), change(plain("inv", accounted), 1), reserveIn("inv", 1, 0, "a"), confirm("inv"), void("inv", "r"),
		takeIn("inv", 1, 0, 1, 1), resolve("inv", 0, 1, 1, true),
	} {
		if got := MinVersion(cmd); got != DocumentVersion {
			t.Errorf("MinVersion(%v) = %d", cmd, got)
		}
		cmd.Version = MinVersion(cmd)
		l.refused(versionTooLow, cmd)
	}
}

// TestKeysAreForgotten lets an hour pass, by the observed clock.
func TestKeysAreForgotten(t *testing.T) {
	l := newLedgerLog(t, plain("inv", accounted))
	done, open := l.reserves("inv", 0, "done"), l.reserves("inv", 0, "open")
	l.must(at(epoch, confirm("inv", claimOf(done))))
	l.must(at(epoch+keyMillis, observe(false)))
	if r := l.reserves("inv", 0, "done"); r.Number != 1 {
		t.Errorf("%+v within the hour", r)
	}
	l.must(at(epoch+keyMillis+1, observe(false)))
	l.refused(unknownKey, confirm("inv", claimOf(done)))
	l.survives()
	if r := l.reserves("inv", 0, "open"); r.Number != open.Number || r.Attempt != 2 {
		t.Errorf("%+v: an open reservation has no end", r)
	}
	if r := l.reserves("inv", 0, "done"); r.Number != 3 {
		t.Errorf("%+v after the hour", r)
	}
}

// TestReservationsAreBounded fills a sequence with open reservations, and all sequences with records.
func TestReservationsAreBounded(t *testing.T) {
	l := newLedgerLog(t, plain("inv", accounted), plain("other", accounted))
	var first Reservation
	for i := range MaxOpenReservations {
		r := l.reserves("inv", 0, fmt.Sprint("k", i))
		if i == 0 {
			first = r
		}
	}
	refused := l.refused(reservationOpen, at(epoch+5, reserveIn("inv", l.seq("inv").Generation, 0, "more")))
	if !strings.Contains(refused.Detail, `key "k0" and number 1, and was reserved 5 ms ago`) {
		t.Error(refused)
	}
	l.reserves("inv", 0, "k7") // has a number
	l.must(confirm("inv", claimOf(first)))
	l.reserves("inv", 0, "more")
	page := l.OpenReservations("inv", 0, "", 2)
	rest := l.OpenReservations("inv", page[1].Reservation, page[1].Key, 2000)
	if page[0].Key != "k1" || page[1].Key != "k2" || len(rest) != 998 || rest[997].Key != "more" {
		t.Errorf("%+v, and %d more", page, len(rest))
	}

	l.maxEntries = l.entries + 2
	l.refused(limitReached, reserveIn("other", l.seq("other").Generation, 0, "a"))
	l.maxEntries++
	r := l.reserves("other", 0, "a")
	l.refused(limitReached, reserveIn("other", l.seq("other").Generation, 0, "b"))
	l.refused(limitReached, takeIn("other", l.seq("other").Generation, 0, 9, 1))
	l.must(void("other", "r", claimOf(r)))
	l.survives()
	if got, want := l.entries, l.seqEntries(); got != want {
		t.Errorf("%d records, want %d", got, want)
	}
}

// seqEntries counts the records of all ledgers.
func (l *log) seqEntries() (n int) {
	for q := range l.sequences.all() {
		n += q.ledger.entries()
	}
	return n
}

// TestKeysOverload fills the memory of keys.
func TestKeysOverload(t *testing.T) {
	l := newLedgerLog(t, plain("inv", accounted))
	g := l.seq("inv").Generation
	for i := 0; i < maxKeys; i += 64 {
		var keys []string
		for j := range 64 {
			keys = append(keys, fmt.Sprint("k", i+j))
		}
		var claims []*commandv1.ReservationClaim
		for _, r := range l.must(at(epoch+int64(i), reserveIn("inv", g, 0, keys...))).Reservations {
			claims = append(claims, claimOf(r))
		}
		l.must(at(epoch+int64(i), confirm("inv", claims...)))
	}
	refused := l.refused(overloaded, reserveIn("inv", g, 0, "more"))
	if refused.RetryAtMillis != epoch+keyMillis+1 {
		t.Errorf("%+v", refused)
	}
	if q := l.seq("inv"); l.entries != maxKeys+1 || q.Open != 0 {
		t.Errorf("%d records: confirmed numbers must not be records", l.entries)
	}
	l.must(at(refused.RetryAtMillis, observe(false)))
	l.reserves("inv", 0, "more")
}
