package fsm

import commandv1 "github.com/snowraft/snowraft/proto/command/v1"

// addPast adds the past of the last layout.
func (r *snapshotDecoder) addPast(m *commandv1.SnapshotPast) error {
	l := r.layout
	switch {
	case !l.layout.Spec().Past || r.state.version < DocumentVersion:
		return corrupt("layout %q has a past, and was created without one", l.name)
	case m.GetBorderTick() < 1 || m.GetBorderTick() > l.ticks:
		return corrupt("a past that ends at tick %d, expected 1 to %d", m.GetBorderTick(), l.ticks)
	case m.GetNextJob() > l.layout.Workers():
		return corrupt("%d backfill jobs, expected at most %d", m.GetNextJob(), l.layout.Workers())
	case m.GetClosed() && r.state.restored == nil:
		return corrupt("a closed past, in a cluster that was not restored")
	}
	l.past = &past{border: m.GetBorderTick(), next: m.GetNextJob(), closed: m.GetClosed()}
	return nil
}

func (r *snapshotDecoder) addBackfill(m *commandv1.SnapshotBackfill) error {
	l, p := r.layout, r.layout.past
	if n := len(p.jobs); m.GetJob() >= p.next || n > 0 && m.GetJob() <= p.jobs[n-1].number {
		return corrupt("backfill job %d is out of order, or has a number that is not used", m.GetJob())
	}
	if err := checkHolding(m.GetOwner(), m.GetHolder()); err != nil {
		return corrupt("%v", err)
	}
	if m.GetPlace() < 0 || m.GetPlace() > l.placeOf(p.border) {
		return corrupt("backfill job %d at place %d, expected 0 to %d", m.GetJob(), m.GetPlace(), l.placeOf(p.border))
	}
	if p.closed && !m.GetEnded() {
		return corrupt("backfill job %d is not ended, and the past is closed", m.GetJob())
	}
	j := job{
		number: m.GetJob(), holder: m.GetHolder(), owner: m.GetOwner(), created: m.GetCreatedAtMs(), place: m.GetPlace(), ended: m.GetEnded(),
	}
	digest, extended := hashOf(m.GetDigest())
	if from := m.GetExtendedFromPlace(); !extended && (len(m.GetDigest()) > 0 || from != 0) || extended && (m.GetEnded() || from < 0 || from >= m.GetPlace()) {
		return corrupt("the last extension of backfill job %d, with a digest of %d bytes, began at place %d", m.GetJob(), len(m.GetDigest()), from)
	}
	if extended {
		j.extension = placing{digest, m.GetExtendedFromPlace()}
	}
	p.jobs = append(p.jobs, j)
	return nil
}
