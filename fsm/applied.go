package fsm

import (
	"context"
	"slices"
)

// waiter waits until a log index is reached.
type waiter struct {
	index uint64
	done  chan error // buffered for its only answer
}

// Applied returns the log index of the last command that the machine has applied. After
// a snapshot was restored it may be too low, see [Machine.AwaitApplied].
func (m *Machine) Applied() uint64 { return m.applied.Load() }

// AwaitApplied waits until the machine has applied the command at a log index or at a
// later one, or has restored a state that records such an index. A snapshot of
// fsm_version 1 does not record its last index, only the indexes of the changes that it holds. After such a
// snapshot was restored, the wait may therefore last until the next command; leaders
// commit their clock about once per second. The error is ctx's, or wraps [ErrHalted],
// because a halted machine applies no further commands.
func (m *Machine) AwaitApplied(ctx context.Context, index uint64) error {
	if m.applied.Load() >= index {
		return nil
	}
	w := waiter{index, make(chan error, 1)}
	if done, err := m.await(w); done {
		return err
	}
	select {
	case err := <-w.done:
		return err
	case <-ctx.Done():
		m.mu.Lock()
		defer m.mu.Unlock()
		m.waiters = slices.DeleteFunc(m.waiters, func(other waiter) bool { return other == w })
		return ctx.Err()
	}
}

// await registers w, unless its index is applied already or the machine is halted.
func (m *Machine) await(w waiter) (done bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.applied.Load() >= w.index:
		return true, nil
	case m.halted != nil:
		return true, m.halted
	}
	m.waiters = append(m.waiters, w)
	return false, nil
}

// reach notes that everything up to index was applied and wakes the callers that wait for that.
func (m *Machine) reach(index uint64) {
	if index <= m.applied.Load() {
		return
	}
	m.applied.Store(index)
	m.waiters = slices.DeleteFunc(m.waiters, func(w waiter) bool {
		if w.index <= index {
			w.done <- nil
		}
		return w.index <= index
	})
}

// halt stops the machine permanently and reports that to all waiters.
func (m *Machine) halt(err error) {
	m.halted = err
	for _, w := range m.waiters {
		w.done <- err
	}
	m.waiters = nil
}
