package console

import (
	"fmt"
	"sync"

	"github.com/snowraft/snowraft/internal/rpc"
)

// maxViewers bounds the streams of the process. Each may need a call of WatchOverview; a process serves at least this many.
const maxViewers = 64

// viewers counts the streams.
type viewers struct {
	closing chan struct{}

	mu     sync.Mutex
	open   int
	closed bool
}

func newViewers() *viewers { return &viewers{closing: make(chan struct{})} }

// enter takes a place. After a nil error, leave must be called once.
func (v *viewers) enter() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.open >= maxViewers {
		return rpc.NewError(rpc.Overloaded, fmt.Sprintf("%d pages are open here, the limit of this process; close one, or open the console of another member", v.open))
	}
	v.open++
	return nil
}

// count returns the number of open streams.
func (v *viewers) count() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.open
}

func (v *viewers) leave() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.open--
}

// close ends all streams, and all streams that begin later.
func (v *viewers) close() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.closed {
		v.closed = true
		close(v.closing)
	}
}
