package fsm

import (
	"errors"
	"fmt"
	"io"

	"github.com/hashicorp/raft"
)

// Snapshot returns a copy of the state, which raft persists while further commands are
// applied. After a halt the error wraps [ErrHalted].
func (m *Machine) Snapshot() (raft.FSMSnapshot, error) {
	captured, err := m.Capture()
	if err != nil {
		return nil, err
	}
	return &snapshot{captured.image}, nil
}

// Restore replaces the state with the state of a snapshot, and closes r. A snapshot that
// cannot be restored halts the machine, with the state as it was before, because raft
// would continue with an older snapshot or without one. The error wraps [ErrHalted]. A
// halted machine must be restarted.
func (m *Machine) Restore(r io.ReadCloser) error {
	defer func() { _ = r.Close() }()
	state, err := ReadState(r, m.options.Supported)
	if err != nil && !errors.Is(err, ErrHalted) {
		err = fmt.Errorf("%w: the snapshot cannot be restored: %w; %s", ErrHalted, err, adviceFor(err))
	}
	m.mu.Lock()
	first := m.halted == nil
	switch {
	case !first:
		err = m.halted
	case err != nil:
		m.halt(err)
	default:
		m.install(state)
	}
	m.mu.Unlock()
	if err != nil && first {
		m.options.Halt(err)
	}
	return err
}

// snapshot is an image on its way to disk.
type snapshot struct{ image image }

func (s *snapshot) Persist(sink raft.SnapshotSink) error {
	if _, err := s.image.writeTo(sink); err != nil {
		return errors.Join(err, sink.Cancel())
	}
	return sink.Close()
}

func (s *snapshot) Release() {}
