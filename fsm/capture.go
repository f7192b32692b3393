package fsm

import "io"

// Capture is the state at one index, which does not change anymore.
type Capture struct {
	// Index is the index of the last command in it, or of the newest grant in it after a snapshot was restored.
	Index uint64
	// Term is the term of the last command; 0 if a snapshot was restored and no command came since.
	Term  uint64
	image image
}

// WriteTo implements io.WriterTo: it writes what [ReadState] reads.
func (c *Capture) WriteTo(w io.Writer) (int64, error) { return c.image.writeTo(w) }

// Capture returns the state of now. Unlike Snapshot it may be called at any time. A halted machine has none.
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
