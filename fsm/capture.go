package fsm

import "io"

// Capture is an unchanging copy of the state at one index.
type Capture struct {
	// Index is the index of the last command in the state. If a snapshot was restored and no command came since, Index is
	// the greatest index that the snapshot records.
	Index uint64
	// Term is the term of the last command; 0 if no command came since the start or since a snapshot was restored.
	Term  uint64
	image image
}

// WriteTo implements io.WriterTo: it writes what [ReadState] reads.
func (c *Capture) WriteTo(w io.Writer) (int64, error) { return c.image.writeTo(w) }

// Capture returns a copy of the present state with its index, for backups. It takes the lock until the copy is made; writing
// the copy takes none. After a halt the error wraps [ErrHalted].
func (m *Machine) Capture() (*Capture, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.halted != nil {
		return nil, m.halted
	}
	return &Capture{Index: m.state.index, Term: m.term, image: m.state.imageAlone()}, nil
}

// Observed returns the observed clock in Unix milliseconds; 0 before the first observation.
func (s *State) Observed() int64 { return s.observed }
