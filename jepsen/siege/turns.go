package siege

import (
	"context"
	"sync"
)

// turns allows one protocol at a time to call. Clients that make calls one after the other compete for the processors. If all
// protocols called at once, strangers that slow down one protocol would leave more processor time to the others. The rates
// would then show the share of each protocol instead of the cost of strangers.
type turns struct {
	mu      sync.Mutex
	now     int           // index of the protocol
	changed chan struct{} // closed when now changes
}

func newTurns() *turns { return &turns{changed: make(chan struct{})} }

// give gives the turn to a protocol.
func (t *turns) give(protocol int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.now = protocol
	close(t.changed)
	t.changed = make(chan struct{})
}

// await waits until it is the turn of a protocol, or ctx ends.
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
