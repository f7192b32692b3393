package fsm

import "sync/atomic"

// Sequence returns the sequence of that name. It takes the lock for reading, and
// makes the specification again: keep what it returns until [Machine.SequenceRevision] grows.
func (m *Machine) Sequence(name string) (Sequence, bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.state.Sequence(name)
}

// SequenceStamp returns what a block of a sequence is outdated by: its generation and
// its period. It takes the lock for reading, and no memory.
func (m *Machine) SequenceStamp(name string) (generation uint64, period int32, ok bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	q, ok := m.state.sequences.live.Get(name)
	if !ok {
		return 0, 0, false
	}
	return q.generation, q.period, true
}

// SequenceRevision returns a number that grows when some sequence was created,
// updated, set, deleted or began a period, and when a snapshot was restored. It is
// to be read only, without a lock, on every number that is issued: as long as it
// is the same, so is what Sequence and SequenceStamp would say of generations and
// periods. A reader that sees a new value before them sees the new state.
func (m *Machine) SequenceRevision() *atomic.Uint64 { return &m.revision }
