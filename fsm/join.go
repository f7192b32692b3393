package fsm

import (
	"math"
	"slices"
)

// joinOf returns a ledger that covers two states of a sequence: a number with one fate in both has it still, and every other
// number that was drawn in one of them is unknown, by the stamp. A number that is free in one of them only has two fates,
// because a branch between them may have drawn it again.
func joinOf(p, q *sequence, by stamp) *ledger {
	l, other := p.ledger, q.ledger
	if l == nil {
		l = newLedger()
	}
	if other == nil {
		other = newLedger()
	}
	joined := newLedger()
	for _, period := range slices.Sorted(slices.Values(append(l.periods.Keys(), other.periods.Keys()...))) {
		if _, known := joined.periods.Get(period); !known {
			a, _ := l.periods.Get(period)
			b, _ := other.periods.Get(period)
			joined.joinAccount(period, a, b, (period == p.period) == (period == q.period), by)
		}
	}
	joined.joinKeys(l, other)
	if joined.periods.Len() == 0 {
		return nil
	}
	return joined
}

// joinAccount adds an account that covers two; nil is one without numbers. alike reports that the period is the current one of
// both or of neither.
func (l *ledger) joinAccount(period int32, a, b *account, alike bool, by stamp) {
	switch {
	case a == nil:
		a = newAccount(b.first)
	case b == nil:
		b = newAccount(a.first)
	}
	c := l.account(period, min(a.first, b.first))
	c.next, c.cut = max(a.next, b.next), a.cut || b.cut
	ends := slices.Compact(slices.Sorted(slices.Values(append(a.ends(), b.ends()...))))
	for i, from := range ends {
		if i == len(ends)-1 {
			break
		}
		f, inA := a.fate(from)
		g, inB := b.fate(from)
		switch {
		case !inA && !inB:
		case inA != inB, f != g, f.reusable && !alike:
			l.set(c, from, ends[i+1], fate{kind: fateUnknown, stamp: by})
		case f != fate{kind: fateConfirmed}:
			l.set(c, from, ends[i+1], f)
		}
	}
}

// ends returns the numbers at which the fate of a number can differ from that of the number before.
func (a *account) ends() []int64 {
	all := []int64{a.first, a.next}
	a.runs.Scan(func(from int64, r *run) bool {
		all = append(all, from, r.until)
		return true
	})
	return all
}

// joinKeys adds the keys that two ledgers remember alike, with the greater attempt. An open number without its key is
// unknown.
func (l *ledger) joinKeys(a, b *ledger) {
	a.keys.Scan(func(key string, r *reservation) bool {
		other, ok := b.keys.Get(key)
		if !ok || other.index != r.index || other.state != r.state || other.settled != r.settled {
			return true
		}
		if other.attempt > r.attempt {
			r = other
		}
		switch {
		case r.settled != 0:
			l.settled.Insert(ordered(r.settled, key))
		case !l.isOf(key, r):
			return true
		case r.state == fateOpen:
			l.opened.Insert(ordered(r.index, key))
		}
		l.keys.Set(key, r)
		return true
	})
	for _, period := range l.periods.Keys() {
		c := l.account(period, 0)
		for _, from := range c.runs.Keys() {
			r, _ := c.runs.Get(from)
			if _, known := l.keys.Get(r.key); r.key != "" && !known {
				l.set(c, from, r.until, fate{kind: fateUnknown, voids: r.voids, reason: r.reason, stamp: r.stamp})
			}
		}
	}
}

// coverNumbers gives q, whose record covers two of its name, a ledger that covers theirs. Numbers that a record of
// another mode granted are unknown.
func (q *sequence) coverNumbers(a, b *sequence) {
	q.ledger = nil
	if !q.spec.gapless() || a.ledger == nil && b.ledger == nil {
		return
	}
	by := stamp{index: max(a.generation, b.generation)}
	q.ledger = joinOf(a, b, by)
	for _, r := range []*sequence{a, b} {
		if !r.spec.gapless() && r.used.some {
			q.ledger.fill(q.ledger.account(r.period, r.base), min(r.used.high, math.MaxInt64-1)+1, by)
		}
	}
}
