//go:build linux

package nemesis

import "sync"

// turns lets faults begin: mostOverlap at a time, or one that is to be alone. A schedule has no more
// at a time either, but what waited for one that is alone comes when that is over.
type turns struct {
	alone sync.RWMutex // held for writing by faults that are to be alone
	slots chan struct{}
}

func newTurns() *turns { return &turns{slots: make(chan struct{}, mostOverlap)} }

// take waits for a fault's turn, which lasts until release is called. One that is beside others waits for the end of
// one that is alone only.
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
