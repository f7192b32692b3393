package fsm

import (
	"github.com/snowraft/snowraft/internal/limits"
	"github.com/snowraft/snowraft/internal/names"
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// ledgerDecoder builds the ledger of a sequence from its records. The zero value has no sequence.
type ledgerDecoder struct {
	owner *sequence
	live  bool

	ledger  *ledger
	account *account
	period  int32
	last    string // the last key
	keyed   int    // number of runs with a key
}

func (d *ledgerDecoder) addPeriod(m *commandv1.SnapshotPeriod) error {
	q := d.owner
	if !d.live || !q.spec.gapless() {
		return corrupt("a period of sequence %q, which is not gapless", q.name)
	}
	if d.ledger == nil {
		d.ledger = newLedger()
	} else if m.GetPeriod() <= d.period {
		return corrupt("period %d of sequence %q is out of order", m.GetPeriod(), q.name)
	}
	if day := m.GetPeriod(); day != 0 && checkDate(day) != nil || day > q.period || m.GetFirst() > m.GetNext() {
		return corrupt("period %d of sequence %q, whose period is %d, with numbers from %d to %d", m.GetPeriod(), q.name, q.period, m.GetFirst(), m.GetNext())
	}
	d.period = m.GetPeriod()
	d.account = d.ledger.account(d.period, m.GetFirst())
	d.account.next, d.account.cut = m.GetNext(), m.GetCut()
	return nil
}

func (d *ledgerDecoder) addFate(m *commandv1.SnapshotFate) error {
	a, q := d.account, d.owner
	from := m.GetFirst()
	until, refused := checkRange(from, m.GetCount())
	if refused == nil {
		refused = checkReason(m.GetReason(), false)
	}
	if refused != nil {
		return corrupt("a fate of sequence %q: %w", q.name, refused)
	}
	if _, last, some := a.runs.Max(); from < a.first || some && from < last.until || from <= a.next && a.next < until {
		return corrupt("numbers %d to %d of sequence %q are out of order", from, until-1, q.name)
	}
	by, err := decodeCaller(m.GetActor())
	if err != nil {
		return err
	}
	f := fate{
		kind: m.GetKind(), key: m.GetKey(), voids: m.GetVoids(), reason: m.GetReason(), reusable: m.GetReusable(),
		stamp: stamp{index: m.GetIndex(), at: m.GetAtMs(), by: by},
	}
	keyed := f.key != ""
	switch {
	case f.kind < fateOpen || f.kind > fateUnknown, f.index == 0,
		keyed != (f.kind == fateOpen) && f.kind != fateUnknown,
		(keyed || f.reusable) && m.GetCount() != 1,
		(f.kind == fateVoid) && f.voids == 0, f.reusable && f.kind != fateVoid:
		return corrupt("numbers %d to %d of sequence %q have the fate %v", from, until-1, q.name, f)
	}
	if keyed {
		d.keyed++
	}
	if f.reusable && d.period == q.period {
		d.ledger.free.Insert(from)
	}
	d.ledger.set(a, from, until, f)
	return nil
}

func decodeCaller(a *commandv1.Actor) (Caller, error) {
	c := callerOf(a)
	if a != nil && (c == Caller{} || a.GetJudgedAt() != 0 || len(c.Name) > limits.NameBytes || names.CheckText("member", c.Name) != nil) {
		return c, corrupt("a caller %v", a)
	}
	return c, nil
}

func (d *ledgerDecoder) addReservation(m *commandv1.SnapshotReservation) error {
	l, q, key := d.ledger, d.owner, m.GetKey()
	if refused := checkKey(key); refused != nil {
		return corrupt("a key of sequence %q: %w", q.name, refused)
	}
	if key <= d.last || l.keys.Len() >= maxKeys {
		return corrupt("key %q of sequence %q is out of order, or one too many", key, q.name)
	}
	d.last = key
	holder, err := decodeCaller(m.GetHolder())
	if err != nil {
		return err
	}
	r := &reservation{
		period: m.GetPeriod(), number: m.GetNumber(), index: m.GetReservation(), attempt: m.GetAttempt(), state: m.GetState(),
		reserved: m.GetReservedAtMs(), holder: holder, settled: m.GetSettledIndex(), settledAt: m.GetSettledAtMs(),
	}
	done := r.state == fateConfirmed || r.state == fateVoid
	switch {
	case r.index == 0, r.attempt == 0, done != (r.settled != 0), !done && r.settledAt != 0, done && r.settled <= r.index,
		!done && r.state != fateOpen && r.state != fateUnknown:
		return corrupt("key %q of sequence %q has the reservation %v", key, q.name, m)
	case !done && !l.isOf(key, r):
		return corrupt("key %q of sequence %q is %v, and number %d is not", key, q.name, r.state, r.number)
	}
	switch r.state {
	case fateOpen:
		l.opened.Insert(ordered(r.index, key))
		d.keyed--
	case fateUnknown:
		d.keyed--
	default:
		l.settled.Insert(ordered(r.settled, key))
	}
	l.keys.Set(key, r)
	return nil
}

// isOf reports whether the number of a reservation that is open or unknown has that fate, for its key.
func (l *ledger) isOf(key string, r *reservation) bool {
	a, ok := l.periods.Get(r.period)
	if !ok {
		return false
	}
	f, ok := a.fate(r.number)
	return ok && f.kind == r.state && f.key == key
}

// finish gives the sequence its ledger, when all its records are read.
func (d *ledgerDecoder) finish(s *State) error {
	if d.ledger == nil {
		return nil
	}
	q, l := d.owner, d.ledger
	s.entries += l.entries()
	switch {
	case d.keyed != 0:
		return corrupt("sequence %q has numbers of keys that it does not remember", q.name)
	case l.opened.Len() > MaxOpenReservations || l.entries() > maxEntriesOfOne || s.entries > maxEntries:
		return corrupt("sequence %q has %d records and %d open reservations, or all sequences have too many", q.name, l.entries(), l.opened.Len())
	}
	q.ledger, d.ledger = l, nil
	return nil
}
