package frontend

import (
	"sync"
	"sync/atomic"

	"github.com/snowraft/snowraft/server/wire"
)

// gate counts the HTTP requests in progress, so that the member can shut down between requests.
type gate struct {
	closing atomic.Bool
	inside  sync.RWMutex
}

// Enter implements web.Gate.
func (g *gate) Enter() error {
	if !g.closing.Load() {
		g.inside.RLock()
		if !g.closing.Load() {
			return nil
		}
		g.inside.RUnlock()
	}
	return wire.ShuttingDown()
}

// Leave implements web.Gate.
func (g *gate) Leave() { g.inside.RUnlock() }

// shut rejects new requests and waits until all requests in progress have left.
func (g *gate) shut() {
	g.closing.Store(true)
	g.inside.Lock()
	defer g.inside.Unlock()
}
