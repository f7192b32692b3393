package fsm

import "github.com/snowraft/snowraft/internal/position"

// Position returns the position of this replica in the history of its cluster, without the ID of the cluster.
func (m *Machine) Position() position.Position {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.state.position()
}

func (s *State) position() position.Position {
	p := position.Position{Life: s.life(), Index: s.index, Nonce: s.lineage.last().nonce, WindowEnd: s.windowEnd}
	if n := len(s.lineage.clocks); n > 0 {
		p.HashIndex, p.Hash = s.lineage.clocks[n-1].index, s.lineage.clocks[n-1].hash
	}
	return p
}

// noteWindow notes that a window of l until a tick was granted.
func (s *State) noteWindow(l *layout, until int64) {
	s.windowEnd = max(s.windowEnd, l.layout.MillisAt(until))
}
