package fsm

import (
	"context"
	"slices"
)

// waiter waits until a log index is reached.
type waiter struct {
	index uint64
	done  chan error // has room for the one answer
}

// Applied is the log index of the last command that the machine has applied. What
// AwaitApplied says of restored states goes for it too.
func (m *Machine) Applied() uint64 { return m.applied.Load() }

// AwaitApplied waits until the machine has applied the command at a log index, or one
// after it, or has restored a state that knows of one. A snapshot does not say how
// far it goes, only when what it holds was made: after restoring one it may be the
// next command that ends the wait, and leaders commit their clock every second or
// so. The error is ctx's, or wraps [ErrHalted]: a halted machine gets no further.
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

// await lets w wait unless it is done at once.
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

// reach notes that everything up to index was applied and wakes the waiting callers.
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
