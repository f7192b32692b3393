package fsm

import (
	"math"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// A restore leaves the numbers unknown of which the earlier cluster may have decided after the backup: open ones, free
// ones, and those that it may have drawn. Nothing draws an unknown number. An operator resolves it, by number.

// doubt turns the open and the free numbers of a sequence into unknown ones, when it continues in the period next. Nothing can
// be drawn again, and no claim has an effect. Of periods that the earlier cluster ended, or in which it drew late numbers,
// numbers may be missing at the end.
func (l *ledger) doubt(q *sequence, next int32) *ledger {
	d := l.clone()
	var periods []int32
	d.periods.Scan(func(p int32, _ *account) bool {
		periods = append(periods, p)
		return true
	})
	for _, p := range periods {
		a := d.account(p, 0)
		late := q.spec.lateMillis > 0 && p > q.late.value().since && p >= q.late.value().open
		a.cut = a.cut || p < next && (p == q.period || late)
		d.doubtRuns(a, p == q.period)
	}
	d.opened.Scan(func(text string) bool {
		r, _ := d.keys.Get(keyOf(text))
		open := *r
		open.state = fateUnknown
		d.keys.Set(keyOf(text), &open)
		return true
	})
	d.opened.Clear()
	d.free.Clear()
	return d
}

// doubtRuns is doubt for the runs of an account. Voided numbers of the current period are free.
func (l *ledger) doubtRuns(a *account, current bool) {
	changed := map[int64]*run{}
	a.runs.Scan(func(from int64, r *run) bool {
		if r.kind == fateOpen || r.reusable {
			changed[from] = r
		}
		return true
	})
	for from, r := range changed {
		f := r.fate
		f.reusable = false
		if r.kind == fateOpen || current {
			f.kind = fateUnknown
		}
		l.set(a, from, r.until, f)
	}
}

// fill makes the numbers of an account from next up to until unknown, if they have no fate.
func (l *ledger) fill(a *account, until int64, by stamp) {
	for a.next < until {
		end := until
		a.runs.Ascend(a.next, func(first int64, _ *run) bool {
			end = min(end, first)
			return false
		})
		l.set(a, a.next, end, fate{kind: fateUnknown, stamp: by})
	}
}

// resumeGapless makes all numbers up to the stated last one unknown that have no fate, and margin numbers more.
func (p *posting) resumeGapless(granted *int64, margin uint64) *Refused {
	q := &p.q
	if q.spec.resets() && !q.drawn() && (granted != nil || margin > 0) {
		q.withoutReset()
	}
	if q.spent && granted == nil {
		q.spend()
		return nil
	}
	q.spent = false
	next := q.base
	if a, ok := p.l.periods.Get(q.period); ok {
		if next = a.next; granted != nil && *granted < next-1 && a.first < next {
			return refuseResume(q.name, 1, next-1, *granted)
		}
	}
	until := next
	if granted != nil {
		until = max(until, min(*granted, math.MaxInt64-1)+1)
	}
	if until = int64(uint64(until) + min(margin, distance(until, math.MaxInt64))); until == next {
		return nil
	}
	a := p.account(q.period)
	p.l.fill(a, until, p.stamp)
	q.used = q.used.add(a.first).add(until - 1)
	return nil
}

// resolveNumbers records the fate of unknown numbers. Repeating it changes nothing. In a period that a restore cut, the
// numbers that the state does not know are unknown too.
func (s *State) resolveNumbers(e entry) Result {
	c := e.cmd.GetResolveNumbers()
	old, refused := s.gapless(c.GetName())
	if refused != nil {
		return Result{Err: refused}
	}
	f := fate{kind: fateVoid, reason: c.GetReason()}
	if c.GetUsed() {
		f.kind = fateConfirmed
	}
	until, refused := checkRange(c.GetFirst(), c.GetCount())
	if refused == nil {
		refused = checkReason(c.GetReason(), !c.GetUsed())
	}
	if refused != nil {
		return Result{Err: refused}
	}
	if err := old.grows(e.index); err != nil {
		return halted(err)
	}
	p := s.edit(old, e)
	a, period, refused := p.accountInDoubt(c.GetPeriod())
	if refused != nil {
		return Result{Err: refused}
	}
	if a.cut {
		p.l.fill(a, until, p.stamp)
	}
	parts, refused := a.unknownOf(p.q.name, c.GetFirst(), until, f.kind)
	if refused != nil || len(parts) == 0 {
		return Result{Err: refused}
	}
	for _, part := range parts {
		p.resolve(a, period, part, f)
	}
	if refused := p.room(); refused != nil {
		return Result{Err: refused}
	}
	p.commit()
	return Result{}
}

// accountInDoubt returns the account of a period to edit, and that period. After a restore, the account of a past period may be missing,
// because the earlier cluster began the period after the backup.
func (p *posting) accountInDoubt(period int32) (a *account, of int32, refused *Refused) {
	_, known := p.l.periods.Get(period)
	if err := p.q.spec.checkPeriod(period); err != nil && !known {
		return nil, 0, invalid("%v", err)
	}
	if !known {
		period = p.periodOf(period)
		_, known = p.l.periods.Get(period)
	}
	if !known && (p.state.restored == nil || period >= p.q.period) {
		return nil, 0, invalid("sequence %q: no number of the period %d was drawn", p.q.name, period)
	}
	a = p.account(period)
	a.cut = a.cut || !known
	return a, period, nil
}

// part is a part of an unknown run that is resolved: the numbers [from, until) of the run that begins at first.
type part struct {
	first, from, until int64
	run                *run
}

// unknownOf returns the unknown parts of [from, until). It refuses if any other number of it does not have the wanted fate.
func (a *account) unknownOf(name string, from, until int64, want commandv1.FateKind) (parts []part, refused *Refused) {
	for n := from; n < until; {
		first, r, ok := a.at(n)
		switch {
		case ok && r.kind == fateUnknown:
			parts = append(parts, part{first, n, min(until, r.until), r})
			n = min(until, r.until)
		case ok && r.kind == want:
			n = min(until, r.until)
		case ok:
			return nil, alreadySettled(name, n, r.kind)
		case n >= a.next || n < a.first:
			return nil, invalid("sequence %q: number %d was not drawn", name, n)
		case want != fateConfirmed:
			return nil, alreadySettled(name, n, fateConfirmed)
		default: // confirmed numbers up to the next run
			end := min(until, a.next)
			a.runs.Ascend(n, func(next int64, _ *run) bool {
				end = min(end, next)
				return false
			})
			n = end
		}
	}
	return parts, nil
}

// resolve gives a part of an unknown run a fate. It forgets the key that had the number open, because a used number may belong to
// another key: the earlier cluster may have reused it after the backup.
func (p *posting) resolve(a *account, period int32, of part, f fate) {
	p.l.drop(a, of.first)
	if of.first < of.from {
		p.l.set(a, of.first, of.from, of.run.fate)
	}
	if of.until < of.run.until {
		p.l.set(a, of.until, of.run.until, of.run.fate)
	}
	p.decide(a, period, of.from, of.until, of.run.fate, f)
	p.l.keys.Delete(of.run.key)
}
