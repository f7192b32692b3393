package server

import (
	"sync"
	"sync/atomic"

	"google.golang.org/grpc/codes"

	"github.com/snowraft/snowraft/internal/rpc"
)

// gate counts HTTP requests in and out, so that the member can end between them.
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
	return shuttingDown()
}

func shuttingDown() error {
	return &rpc.Error{Code: codes.Unavailable, Reason: rpc.ShuttingDown, Message: "this member is shutting down: ask another"}
}

// Leave implements web.Gate.
func (g *gate) Leave() { g.inside.RUnlock() }

// shut lets nobody in any more, and waits until everybody has left.
func (g *gate) shut() {
	g.closing.Store(true)
	g.inside.Lock()
	defer g.inside.Unlock()
}
