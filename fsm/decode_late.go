package fsm

import commandv1 "github.com/snowraft/snowraft/proto/command/v1"

// message returns the fields of a snapshot.
func (l late) message() (ends []*commandv1.SnapshotEnded, since, open int32) {
	for _, e := range l.ends {
		m := &commandv1.SnapshotEnded{Period: e.period, Base: e.base, Frozen: e.frozen}
		if e.used.some {
			m.Low, m.High = new(e.used.low), new(e.used.high)
		}
		ends = append(ends, m)
	}
	return ends, l.since, l.open
}

// lateOf is the inverse of message. It checks the invariants of the ended periods.
func lateOf(m *commandv1.SnapshotSequence) (late, error) {
	l := late{since: m.GetLateSince(), open: m.GetOpenFrom()}
	name := m.GetSpec().GetName()
	for _, period := range []int32{l.since, l.open} {
		if period != 0 && checkDate(period) != nil {
			return l, corrupt("sequence %q has %w", name, checkDate(period))
		}
	}
	if n := len(m.GetEnded()); n > maxEnded || n > 0 && m.GetSpec().GetLateMs() == 0 {
		return l, corrupt("sequence %q knows %d ended periods, with a late time of %d ms", name, n, m.GetSpec().GetLateMs())
	}
	for _, e := range m.GetEnded() {
		last := l.open - 1
		if n := len(l.ends); n > 0 {
			last = l.ends[n-1].period
		}
		used := hull{e.GetLow(), e.GetHigh(), e.Low != nil}
		switch {
		case checkDate(e.GetPeriod()) != nil:
			return l, corrupt("an end of sequence %q has %w", name, checkDate(e.GetPeriod()))
		case e.GetPeriod() <= last || e.GetPeriod() >= m.GetPeriod():
			return l, corrupt("the end of the period %d of sequence %q in %d is out of order", e.GetPeriod(), name, m.GetPeriod())
		case (e.Low == nil) != (e.High == nil), used.low > used.high:
			return l, corrupt("the end of the period %d of sequence %q has a broken hull", e.GetPeriod(), name)
		}
		l.ends = append(l.ends, ended{e.GetPeriod(), e.GetFrozen(), e.GetBase(), used})
	}
	return l, nil
}
