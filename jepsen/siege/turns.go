package siege

import (
	"context"
	"sync"
)

// turns lets clients of one protocol call at a time. Clients that make one call after the other compete for the processors: if
// all protocols called at once, strangers that slow one of them down would leave more for the others, and rates would tell the
// share of each protocol, not what strangers cost.
type turns struct {
	mu      sync.Mutex
	now     int           // index of the protocol
	changed chan struct{} // closed when it changes
}

func newTurns() *turns { return &turns{changed: make(chan struct{})} }

// give makes it the turn of a protocol.
func (t *turns) give(protocol int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.now = protocol
	close(t.changed)
	t.changed = make(chan struct{})
}

// await waits for the turn of a protocol, or the end of ctx.
func (t *turns) await(ctx context.Context, protocol int) {
	for {
		t.mu.Lock()
		now, changed := t.now, t.changed
		t.mu.Unlock()
		if now == protocol {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}
