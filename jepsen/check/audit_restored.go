package check

import (
	"math"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"

	"github.com/snowraft/snowraft/jepsen/raftlog"
)

// restored takes over what a restored cluster knows. What earlier ones granted the models know better than it does: they
// keep that.
func (a *audit) restored(log *raftlog.Log) error {
	known, err := log.Beginning()
	if err != nil {
		return err
	}
	if known.FloorMillis == 0 {
		a.v.fail("the cluster that begins at index %d does not know that it was restored", log.Base.Index)
	}
	a.windows.restored(known)
	a.sequences.restored(known)
	return nil
}

// restored voids all claims.
func (m *windowModel) restored(known raftlog.Beginning) {
	m.config, m.observed, m.floor = known.Config, known.ObservedMillis, known.FloorMillis
	for _, w := range m.workers {
		w.released, w.earlier = true, true
	}
}

// fence is the first tick of a layout that may be granted after a restore, 0 without one.
func (m *windowModel) fence(l *layoutModel) int64 {
	if m.floor == 0 {
		return 0
	}
	return l.tickAt(m.floor) + 1
}

// restored freezes all sequences and closes the names. The numbers of earlier clusters count as free: the end of a block
// that nobody issued may be granted again. That nothing was issued twice is Uniqueness's to tell.
func (m *sequenceModel) restored(known raftlog.Beginning) {
	m.closed = true
	for name := range m.byName {
		q, ok := known.Sequences[name]
		if !ok {
			delete(m.byName, name) // it came after the backup
			continue
		}
		m.byName[name] = &numbersModel{spec: q.Spec, incarnation: q.Incarnation, period: q.Period, frozen: true}
	}
}

// resume ends the freeze of a sequence: what comes before the number that an operator gave counts as granted.
func (m *sequenceModel) resume(c *commandv1.ResumeSequence) {
	q := m.byName[c.GetName()]
	if q == nil {
		return // a deleted one
	}
	if q.frozen = false; c.After == nil {
		return
	}
	increment := q.spec.GetIncrement()
	skipped, ok := span(c.GetAfter(), c.GetMargin()+1, increment)
	switch {
	case !ok: // beyond 64 bits
		q.granted = []interval{{math.MinInt64, math.MaxInt64}}
	case increment > 0:
		q.granted = []interval{{math.MinInt64, skipped.high}}
	default:
		q.granted = []interval{{skipped.low, math.MaxInt64}}
	}
}
