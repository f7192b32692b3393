package fsm

import (
	"errors"
	"testing"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// sampleLedger returns a state with something of everything that gapless sequences have.
func sampleLedger(t testing.TB) *State {
	t.Helper()
	l := newLedgerLog(t, plain("inv", reusing, resetting(resetDaily)))
	l.must(at(epoch, observe(false)))
	first := l.reserves("inv", 20250101, "a")
	l.must(neverCommitted(void("inv", "canceled", claimOf(first))))
	l.must(takeIn("inv", l.seq("inv").Generation, 20250101, 5, 2))
	l.reserves("inv", 20250101, "old")
	l.restore(nil)
	l.must(acknowledge(l.Restored().GetIndex()))
	period := l.seq("inv").Period
	l.must(resume("inv", l.seq("inv").Generation, new(int64(2)), 0))
	l.must(confirm("inv", claimOf(l.reserves("inv", period, "confirmed"))))
	l.must(void("inv", "never paid", claimOf(l.reserves("inv", period, "void"))))
	l.must(neverCommitted(void("inv", "never paid", claimOf(l.reserves("inv", period, "again")))))
	l.must(confirm("inv", claimOf(l.reserves("inv", period, "reused"))))
	l.must(neverCommitted(void("inv", "never paid", claimOf(l.reserves("inv", period, "free")))))
	l.must(change(plain("inv", accounted, resetting(resetDaily)), l.seq("inv").Generation))
	l.reserves("inv", period, "open")
	l.must(takeIn("inv", l.seq("inv").Generation, period, 20, 3))
	l.survives()
	return l.State
}

// TestDigestCoversLedgers changes one thing at a time.
func TestDigestCoversLedgers(t *testing.T) {
	seen := map[[32]byte]string{sampleLedger(t).Digest(): "the sample"}
	covers := func(name string, edit func(*ledger)) {
		t.Helper()
		s := sampleLedger(t)
		q, _ := s.sequences.live.Get("inv")
		edit(q.ledger)
		digest := s.Digest()
		if other, ok := seen[digest]; ok {
			t.Errorf("%s: the same digest as %s", name, other)
		}
		seen[digest] = name
	}
	account := func(l *ledger) *account {
		_, a, _ := l.periods.Max()
		return a
	}
	for name, edit := range map[string]func(*ledger){
		"first":        func(l *ledger) { account(l).first-- },
		"next":         func(l *ledger) { account(l).next++ },
		"cut":          func(l *ledger) { account(l).cut = true },
		"a period":     func(l *ledger) { l.periods.PopMin() },
		"a number":     func(l *ledger) { account(l).runs.PopMax() },
		"a key":        func(l *ledger) { l.keys.PopMin() },
		"another time": func(l *ledger) { l.periods.Set(20250102, newAccount(1)) },
	} {
		covers(name, edit)
	}
	for name, edit := range map[string]func(*run){
		"until":    func(r *run) { r.until++ },
		"kind":     func(r *run) { r.kind = fateVoid },
		"run key":  func(r *run) { r.key = "x" },
		"voids":    func(r *run) { r.voids++ },
		"reason":   func(r *run) { r.reason += "x" },
		"reusable": func(r *run) { r.reusable = true },
		"index":    func(r *run) { r.index++ },
		"at":       func(r *run) { r.stamp.at++ },
		"kind by":  func(r *run) { r.by.Kind++ },
		"token by": func(r *run) { r.by.Token++ },
		"name by":  func(r *run) { r.by.Name += "x" },
	} {
		covers(name, func(l *ledger) {
			_, r, _ := account(l).runs.Max()
			edit(r)
		})
	}
	for name, edit := range map[string]func(*reservation){
		"key period":  func(r *reservation) { r.period++ },
		"key number":  func(r *reservation) { r.number++ },
		"reservation": func(r *reservation) { r.index++ },
		"attempt":     func(r *reservation) { r.attempt++ },
		"state":       func(r *reservation) { r.state = fateUnknown },
		"reserved":    func(r *reservation) { r.reserved++ },
		"holder":      func(r *reservation) { r.holder.Token++ },
		"settled":     func(r *reservation) { r.settled++ },
		"settled at":  func(r *reservation) { r.settledAt++ },
	} {
		covers(name, func(l *ledger) {
			_, r, _ := l.keys.Min()
			edit(r)
		})
	}
}

// TestSnapshotRefusesLedgersThatNoStateWrites reads snapshots with correct checksums.
func TestSnapshotRefusesLedgersThatNoStateWrites(t *testing.T) {
	data := snapshotBytes(t, sampleLedger(t))
	period := func(change func(*commandv1.SnapshotPeriod)) func(*commandv1.SnapshotRecord) bool {
		return func(r *commandv1.SnapshotRecord) bool {
			if r.GetPeriod() != nil {
				change(r.GetPeriod())
			}
			return r.GetPeriod() != nil
		}
	}
	of := func(kind commandv1.FateKind, change func(*commandv1.SnapshotFate)) func(*commandv1.SnapshotRecord) bool {
		return func(r *commandv1.SnapshotRecord) bool {
			if r.GetFate().GetKind() != kind {
				return false
			}
			change(r.GetFate())
			return true
		}
	}
	key := func(name string, change func(*commandv1.SnapshotReservation)) func(*commandv1.SnapshotRecord) bool {
		return func(r *commandv1.SnapshotRecord) bool {
			if r.GetReservation().GetKey() != name {
				return false
			}
			change(r.GetReservation())
			return true
		}
	}
	for name, change := range map[string]func(*commandv1.SnapshotRecord) bool{
		"no date":              period(func(p *commandv1.SnapshotPeriod) { p.Period = 5 }),
		"a later period":       period(func(p *commandv1.SnapshotPeriod) { p.Period = 99990101 }),
		"next below first":     period(func(p *commandv1.SnapshotPeriod) { p.Next = p.GetFirst() - 1 }),
		"no numbers":           of(fateTaken, func(f *commandv1.SnapshotFate) { f.Count = 0 }),
		"too many numbers":     of(fateTaken, func(f *commandv1.SnapshotFate) { f.Count = 1 << 63 }),
		"before the first":     of(fateUnknown, func(f *commandv1.SnapshotFate) { f.First = -9 }),
		"no kind":              of(fateTaken, func(f *commandv1.SnapshotFate) { f.Kind = 0 }),
		"no index":             of(fateTaken, func(f *commandv1.SnapshotFate) { f.Index = 0 }),
		"a key of taken":       of(fateTaken, func(f *commandv1.SnapshotFate) { f.Key = "a" }),
		"a forgotten key":      of(fateUnknown, func(f *commandv1.SnapshotFate) { f.Key = "forgotten" }),
		"an open without one":  of(fateOpen, func(f *commandv1.SnapshotFate) { f.Key = "" }),
		"a void of no time":    of(fateVoid, func(f *commandv1.SnapshotFate) { f.Voids = 0 }),
		"a free open number":   of(fateOpen, func(f *commandv1.SnapshotFate) { f.Reusable = true }),
		"a judged caller":      of(fateTaken, func(f *commandv1.SnapshotFate) { f.Actor = &commandv1.Actor{Kind: 5, JudgedAt: 1} }),
		"an empty caller":      of(fateTaken, func(f *commandv1.SnapshotFate) { f.Actor = &commandv1.Actor{} }),
		"another number":       key("open", func(r *commandv1.SnapshotReservation) { r.Number++ }),
		"no attempt":           key("open", func(r *commandv1.SnapshotReservation) { r.Attempt = 0 }),
		"no reservation":       key("open", func(r *commandv1.SnapshotReservation) { r.Reservation = 0 }),
		"taken":                key("open", func(r *commandv1.SnapshotReservation) { r.State = fateTaken }),
		"open and settled":     key("open", func(r *commandv1.SnapshotReservation) { r.SettledIndex = r.GetReservation() + 1 }),
		"settled without time": key("confirmed", func(r *commandv1.SnapshotReservation) { r.SettledIndex = 0 }),
		"settled too early":    key("confirmed", func(r *commandv1.SnapshotReservation) { r.SettledIndex = r.GetReservation() }),
		"an empty key":         key("confirmed", func(r *commandv1.SnapshotReservation) { r.Key = "" }),
		"out of order":         key("confirmed", func(r *commandv1.SnapshotReservation) { r.Key = "zzz" }),
	} {
		changed := false
		resealed := reseal(t, data, func(records []*commandv1.SnapshotRecord) []*commandv1.SnapshotRecord {
			for _, r := range records {
				changed = changed || change(r)
			}
			return records
		})
		if !changed {
			t.Fatalf("%s: no such record", name)
		}
		if _, err := ReadState(readerOf(resealed), Version); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
