//go:build linux

package nemesis

import "sync"

// turns limits simultaneous faults to mostOverlap, or to one Alone fault. Schedules keep these limits too, but faults that
// waited for an Alone fault become due together when it ends.
type turns struct {
	alone sync.RWMutex // held for writing by Alone faults, for reading by others
	slots chan struct{}
}

func newTurns() *turns { return &turns{slots: make(chan struct{}, mostOverlap)} }

// take waits for a fault's turn, which lasts until release is called. A fault with Beside waits only for the end of an
// Alone fault.
func (t *turns) take(alone, beside bool) (release func()) {
	switch {
	case alone:
		t.alone.Lock()
		return t.alone.Unlock
	case beside:
		t.alone.RLock()
		return t.alone.RUnlock
	}
	t.slots <- struct{}{}
	t.alone.RLock()
	return func() {
		t.alone.RUnlock()
		<-t.slots
	}
}
