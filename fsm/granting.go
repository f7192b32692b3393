package fsm

// Granting is the knowledge of a state about the granting of a number.
type Granting uint8

// The values of Granting.
const (
	// GrantingUnknown is for numbers that were granted if an earlier cluster did it after the backup, for those that the system
	// may have issued to which the sequence moved, and for those of an earlier period whose end is not known.
	GrantingUnknown Granting = iota
	Granted                  // or between granted numbers: the state remembers only their hull
	NotGranted
)

// Granting returns what the state knows about a number of a sequence, or of a deleted one that it remembers, in a period.
func (s *State) Granting(name string, period int32, number int64) Granting {
	q, ok := s.sequences.record(name)
	switch {
	case !ok:
		return GrantingUnknown
	case q.granting(period, number):
		return Granted
	case q.stops.frozen() || q.stops.moved() || s.restored != nil && period > q.period && period <= s.skippedPeriod(q.spec) || period < q.period && !q.knows(period):
		return GrantingUnknown
	}
	return NotGranted
}

// granting reports whether a number lies among those that were granted in a period.
func (q *sequence) granting(period int32, number int64) bool {
	if q.ledger != nil {
		if a, ok := q.ledger.periods.Get(period); ok {
			if _, drawn := a.fate(number); drawn {
				return true
			}
		}
	}
	if period == q.period {
		return q.used.holds(number)
	}
	e, _ := q.late.value().find(period)
	return e.used.holds(number)
}

// knows reports whether the state has the whole record of an earlier period.
func (q *sequence) knows(period int32) bool {
	if q.ledger != nil {
		a, ok := q.ledger.periods.Get(period)
		return ok && !a.cut
	}
	e, ok := q.late.value().find(period)
	return ok && !e.frozen
}
