package fsm

import (
	"maps"
	"math"
	"slices"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// books is a naive ledger, against which the walks compare the state: maps of single numbers and keys, without runs, without
// counts, and without sharing.
type books struct {
	reuse, frozen bool
	max           int64
	resets        bool
	period        int32
	next          map[int32]int64
	cut           map[int32]bool
	fates         map[bookNumber]bookFate
	keys          map[string]bookKey
	spent         bool

	late        bool
	since, open int32
	skipped     int32 // the last period that an earlier cluster may have begun
}

type bookNumber struct {
	period int32
	number int64
}

type bookFate struct {
	kind  commandv1.FateKind
	key   string
	voids int
	free  bool
}

type bookKey struct {
	bookNumber
	reservation uint64
	attempt     uint32
	state       commandv1.FateKind
	at          int64 // time at which it was confirmed or void
}

func (b *books) clone() *books {
	c := *b
	c.next, c.cut, c.fates, c.keys = maps.Clone(b.next), maps.Clone(b.cut), maps.Clone(b.fates), maps.Clone(b.keys)
	return &c
}

// known returns a key, unless it was settled more than an hour ago.
func (b *books) known(key string, observed int64) (bookKey, bool) {
	k, ok := b.keys[key]
	if settled := k.state == fateConfirmed || k.state == fateVoid; settled && observed-k.at > keyMillis {
		return bookKey{}, false
	}
	return k, ok
}

// begin begins a period.
func (b *books) begin(period int32) {
	if b.resets && period > b.period {
		if b.spent {
			b.next[b.period], b.cut[b.period] = b.first(b.period), true
		}
		b.period, b.spent = period, false
		b.unfree()
	}
}

// unfree makes no voided number one that can be drawn again.
func (b *books) unfree() {
	for n, f := range b.fates {
		f.free = false
		b.fates[n] = f
	}
}

func (b *books) first(period int32) int64 { return max(b.next[period], 1) }

// of returns the period that a command means: a restore may have removed the reset.
func (b *books) of(period int32) int32 {
	if b.resets {
		return period
	}
	return b.period
}

// strange reports whether a sequence with that reset has no such period.
func (b *books) strange(period int32) bool { return (period != 0) != b.resets }

// advance moves the next number of a period beyond numbers that have a fate.
func (b *books) advance(period int32) {
	next := b.first(period)
	for b.fates[bookNumber{period, next}].kind != 0 {
		next++
	}
	b.next[period] = next
}

// reserve returns the numbers of keys; a reason of 0 means that they are reserved.
func (b *books) reserve(c *commandv1.ReserveNumbers, index uint64, observed int64) (got []bookKey, reason commandv1.Refusal) {
	if b.strange(c.GetPeriod()) {
		return nil, invalidArgument
	}
	if b.late {
		b.open = max(b.open, c.GetOpenFrom())
	}
	for _, key := range c.GetKeys() {
		k, known := b.known(key, observed)
		switch {
		case known && k.state == fateUnknown:
			return nil, unresolvedKey
		case known && k.state == fateConfirmed:
		case known && k.state == fateOpen:
			k.attempt++
			b.keys[key] = k
		default:
			b.begin(c.GetPeriod())
			n, reason := b.draw(c.GetOnlyPeriod())
			if reason != 0 {
				return nil, reason
			}
			k = bookKey{bookNumber: n, reservation: index, attempt: 1, state: fateOpen}
			b.keys[key] = k
			b.fates[n] = bookFate{kind: fateOpen, key: key, voids: b.fates[n].voids}
			b.advance(n.period)
		}
		got = append(got, k)
	}
	return got, 0
}

func (b *books) draw(only int32) (bookNumber, commandv1.Refusal) {
	const closed = commandv1.Refusal_REFUSAL_PERIOD_CLOSED
	if only != 0 && only != b.period {
		n := bookNumber{only, b.first(only)}
		switch {
		case !b.resets || only > b.period:
			return n, invalidArgument
		case !b.late || only < b.open || only <= b.since:
			return n, closed
		case b.cut[only] || b.next[only] == 0 && only <= b.skipped:
			return n, frozen
		case n.number > b.max:
			return n, exhaustedReas
		}
		return n, 0
	}
	if b.reuse {
		for n := int64(1); n <= b.max; n++ {
			if at := (bookNumber{b.period, n}); b.fates[at].free {
				return at, 0
			}
		}
	}
	n := b.first(b.period)
	if n > b.max || b.spent {
		return bookNumber{}, exhaustedReas
	}
	return bookNumber{b.period, n}, 0
}

// settle confirms or voids the numbers of claims.
func (b *books) settle(claims []*commandv1.ReservationClaim, want commandv1.FateKind, free bool, now, observed int64) commandv1.Refusal {
	for _, c := range claims {
		k, known := b.known(c.GetKey(), observed)
		switch {
		case !known || c.GetReservation() > k.reservation || c.GetReservation() == k.reservation && c.GetAttempt() > k.attempt:
			return unknownKey
		case c.GetReservation() < k.reservation || c.GetAttempt() < k.attempt:
			return staleAttempt
		case k.state == fateUnknown:
			return unresolvedKey
		case k.state != fateOpen && k.state != want:
			return settledBefore
		case k.state == fateOpen:
			b.decide(k.bookNumber, want, free)
			k.state, k.at = want, now
			b.keys[c.GetKey()] = k
		}
	}
	return 0
}

func (b *books) decide(n bookNumber, kind commandv1.FateKind, free bool) {
	f := b.fates[n]
	f.kind, f.key = kind, ""
	if kind == fateVoid {
		f.voids++
		f.free = free && n.period == b.period
	}
	b.fates[n] = f
}

func (b *books) take(c *commandv1.TakeNumbers) commandv1.Refusal {
	if b.strange(c.GetPeriod()) {
		return invalidArgument
	}
	b.begin(c.GetPeriod())
	period := b.of(c.GetPeriod())
	until := c.GetFirst() + int64(c.GetCount())
	if c.GetFirst() < 1 || until > b.max+1 || c.GetCount() == 0 {
		return invalidArgument
	}
	taken := 0
	for n := c.GetFirst(); n < until; n++ {
		switch b.fates[bookNumber{period, n}].kind {
		case 0:
		case fateTaken:
			taken++
		default:
			return settledBefore
		}
	}
	if taken == int(c.GetCount()) {
		return 0
	}
	if taken > 0 {
		return settledBefore
	}
	if b.next[period] == 0 && period < b.period && period <= b.skipped {
		b.cut[period] = true
	}
	for n := c.GetFirst(); n < until; n++ {
		b.fates[bookNumber{period, n}] = bookFate{kind: fateTaken}
	}
	b.advance(period)
	return 0
}

// fill makes the numbers before until unknown that have no fate.
func (b *books) fill(period int32, until int64) {
	for n := int64(1); n < until; n++ {
		if at := (bookNumber{period, n}); b.fates[at].kind == 0 {
			b.fates[at] = bookFate{kind: fateUnknown}
		}
	}
	b.advance(period)
}

func (b *books) resolve(c *commandv1.ResolveNumbers, restored bool) commandv1.Refusal {
	want := fateVoid
	if c.GetUsed() {
		want = fateConfirmed
	}
	period := c.GetPeriod()
	if b.next[period] == 0 {
		if b.strange(period) {
			return invalidArgument
		}
		period = b.of(period)
	}
	begun := b.next[period] != 0
	if !begun && (!restored || period >= b.period) {
		return invalidArgument
	}
	if !begun {
		b.cut[period] = true
	}
	until := c.GetFirst() + int64(c.GetCount())
	if b.cut[period] && until > b.first(period) {
		b.fill(period, until)
	}
	b.next[period] = b.first(period)
	for n := c.GetFirst(); n < until; n++ {
		switch kind := b.fates[bookNumber{period, n}].kind; kind {
		case 0:
			return invalidArgument
		case fateUnknown, want:
		default:
			return settledBefore
		}
	}
	for n := c.GetFirst(); n < until; n++ {
		at := bookNumber{period, n}
		if f := b.fates[at]; f.kind == fateUnknown {
			b.decide(at, want, false)
			delete(b.keys, f.key)
		}
	}
	return 0
}

// doubt is the effect of a restore in which a later period may have begun.
func (b *books) doubt(period int32) {
	for n, f := range b.fates {
		if f.kind == fateOpen || f.free && n.period == b.period {
			f.kind = fateUnknown
		}
		b.fates[n] = f
	}
	for key, k := range b.keys {
		if k.state == fateOpen {
			k.state = fateUnknown
			b.keys[key] = k
		}
	}
	for p := range b.next {
		if p < period && (p == b.period || b.late && p > b.since && p >= b.open) {
			b.cut[p] = true
		}
	}
	if period > b.period {
		b.period, b.spent = period, true
	}
	b.unfree()
	b.frozen = true
}

// resume ends the freeze after the last number that was drawn.
func (b *books) resume(after *int64) {
	b.frozen = false
	if after == nil {
		return
	}
	b.spent = false
	if *after+1 > b.first(b.period) {
		b.fill(b.period, *after+1)
	}
}

// join covers two states of the books.
func (b *books) join(other *books) {
	for n := range other.fates {
		if _, ok := b.fates[n]; !ok {
			b.fates[n] = bookFate{}
		}
	}
	for n, f := range b.fates {
		if other.fates[n] != f {
			b.fates[n] = bookFate{kind: fateUnknown}
		}
	}
	for key, k := range b.keys {
		o, ok := other.keys[key]
		alike := ok && o.reservation == k.reservation && o.state == k.state && o.at == k.at
		if open := k.state == fateOpen || k.state == fateUnknown; alike && open {
			alike = b.fates[k.bookNumber].key == key
		}
		if !alike {
			delete(b.keys, key)
			continue
		}
		k.attempt = max(k.attempt, o.attempt)
		b.keys[key] = k
	}
	for n, f := range b.fates {
		if _, ok := b.keys[f.key]; f.key != "" && !ok {
			b.fates[n] = bookFate{kind: fateUnknown, voids: f.voids}
		}
	}
	for period := range other.next {
		b.next[period] = max(b.next[period], other.next[period])
		b.advance(period)
		b.cut[period] = b.cut[period] || other.cut[period]
	}
	b.period, b.open = max(b.period, other.period), max(b.open, other.open)
}

// compare compares the books with the ledger of a sequence.
func (b *books) compare(s *State, name string) error {
	got := map[bookNumber]bookFate{}
	for _, a := range s.Accounts(name, math.MaxInt32, 1000) {
		if next := b.next[a.Period]; next == 0 {
			return violated("period", "%+v, want none", a)
		}
		for n := a.First; a.Some && n <= a.Last; n++ {
			got[bookNumber{a.Period, n}] = bookFate{kind: fateConfirmed}
		}
		missing := uint64(0)
		for at := range got {
			if f, ok := b.fates[at]; at.period == a.Period && (!ok || f.kind == 0) {
				missing++
				delete(got, at)
			}
		}
		counts := map[commandv1.FateKind]uint64{}
		for _, f := range s.FatesOf(name, a.Period, FirstFate, 1000) {
			for i := range int64(f.Count) {
				got[bookNumber{a.Period, f.First + i}] = bookFate{f.Kind, f.Key, int(f.Voids), f.Reusable}
			}
		}
		for at, f := range got {
			if at.period == a.Period {
				counts[f.kind]++
			}
		}
		if counts[fateConfirmed] != a.Confirmed || counts[fateVoid] != a.Void || counts[fateTaken] != a.Taken || counts[fateOpen] != a.Open ||
			counts[fateUnknown] != a.Unknown || missing != a.Missing || b.cut[a.Period] != a.Cut {
			return violated("summary", "%+v, want %v and %d missing, cut: %v", a, counts, missing, b.cut[a.Period])
		}
	}
	if !maps.Equal(got, b.fates) {
		return violated("fates", "%v, want %v", got, b.fates)
	}
	open := []string{}
	for _, r := range s.OpenReservations(name, 0, "", 2000) {
		open = append(open, r.Key)
		if k := b.keys[r.Key]; k.state != fateOpen || k.number != r.Number || k.period != r.Period || k.reservation != r.Reservation || k.attempt != r.Attempt {
			return violated("reservation", "%+v, want %+v", r, k)
		}
	}
	for key, k := range b.keys {
		if (k.state == fateOpen) != slices.Contains(open, key) {
			return violated("open", "%v, want %+v", open, b.keys)
		}
	}
	return nil
}
