package fsm

import "sync/atomic"

// Sequence returns the sequence with that name. It takes the lock for reading and
// builds the specification on each call, so callers keep the result until
// [Machine.SequenceRevision] grows.
func (m *Machine) Sequence(name string) (Sequence, bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.state.Sequence(name)
}

// SequenceStamp returns the numbering and the period of a sequence; a block with
// earlier ones is outdated. It takes the lock for reading and allocates no memory.
func (m *Machine) SequenceStamp(name string) (numbering uint64, period int32, ok bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	q, ok := m.state.sequences.live.Get(name)
	if !ok {
		return 0, 0, false
	}
	return q.numbering, q.period, true
}

// SequenceRevision returns a number that grows when some sequence was created,
// updated, resumed, deleted or began a period, and when a snapshot was restored.
// Callers must not change it; every issue of numbers reads it without a lock. While
// it is the same, Sequence and SequenceStamp return the same generations and
// periods. A reader that has read a new value then reads the new state.
func (m *Machine) SequenceRevision() *atomic.Uint64 { return &m.revision }
