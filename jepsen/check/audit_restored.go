package check

import (
	"math"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"

	"github.com/snowraft/snowraft/jepsen/raftlog"
)

// restored sets the models to the initial state of a restored cluster. The models keep all grants of the earlier
// clusters, of which the restored cluster may lack some.
func (a *audit) restored(log *raftlog.Log) error {
	known, err := log.Beginning()
	if err != nil {
		return err
	}
	if known.FloorMillis == 0 {
		a.v.fail("the cluster that begins at index %d has no floor of a restore", log.Base.Index)
	}
	a.windows.restored(known)
	a.sequences.restored(known)
	return nil
}

// restored takes over the configuration, clock and floor of a restored cluster, and ends all claims to windows and
// all backfill jobs.
func (m *windowModel) restored(known raftlog.Beginning) {
	m.config, m.observed, m.floor = known.Config, known.ObservedMillis, known.FloorMillis
	for _, w := range m.workers {
		w.released, w.earlier = true, true
	}
	for _, j := range m.jobs {
		j.earlier = true
	}
}

// fence returns the first tick of a layout that a restored cluster may grant; 0 if the cluster was not restored.
func (m *windowModel) fence(l *layoutModel) int64 {
	if m.floor == 0 {
		return 0
	}
	return l.tickAt(m.floor) + 1
}

// restored freezes all sequences and refuses new names. Numbers granted by earlier clusters count as free, because the
// unissued end of a block may be granted again. Uniqueness checks that no number was issued twice.
func (m *sequenceModel) restored(known raftlog.Beginning) {
	m.closed = true
	for name := range m.byName {
		q, ok := known.Sequences[name]
		if !ok {
			delete(m.byName, name) // created after the backup
			continue
		}
		m.byName[name] = &numbersModel{
			spec: q.Spec, incarnation: q.Incarnation, period: q.Period, granted: map[int32][]interval{}, frozen: true,
			closed: q.Period, reopened: map[int32]bool{},
		}
	}
}

// resume ends the freeze of a sequence, or of one of its earlier periods. All numbers up to the operator's number and margin count as granted.
func (m *sequenceModel) resume(c *commandv1.ResumeSequence) {
	q := m.byName[c.GetName()]
	if q == nil {
		return // deleted sequence
	}
	period := q.period
	if c.GetPeriod() != 0 {
		period = c.GetPeriod()
		q.reopened[period] = true
	} else {
		q.frozen = false
	}
	if c.After == nil {
		return
	}
	increment := q.spec.GetIncrement()
	skipped, ok := span(c.GetAfter(), c.GetMargin()+1, increment)
	switch {
	case !ok: // beyond 64 bits
		q.granted[period] = []interval{{math.MinInt64, math.MaxInt64}}
	case increment > 0:
		q.granted[period] = []interval{{math.MinInt64, skipped.high}}
	default:
		q.granted[period] = []interval{{skipped.low, math.MaxInt64}}
	}
}
