package server

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/snowraft/snowraft/internal/clock"
)

const (
	// tokenClockBeat is the interval at which a tokenClock reads the observed clock.
	tokenClockBeat = time.Second
	// tokenClockLead is the greatest lead over the observed clock that the time of tokens keeps when the observed clock moves.
	tokenClockLead = 5000 // ms
)

// tokenClock is the time by which tokens expire: the cluster's observed clock plus the monotonic time since the observed clock
// last moved. The wall clock of this member does not count. The time continues while the observed clock stands still, for
// example on a member that is cut off.
type tokenClock struct {
	cluster *atomic.Int64 // the observed clock, Unix ms
	read    clock.Source

	mu       sync.Mutex   // held to change base and observed
	base     atomic.Int64 // the time of tokens minus the monotonic clock, ms
	observed atomic.Int64 // the observed clock that base follows, Unix ms
}

// now returns the time of tokens, Unix ms.
func (c *tokenClock) now() int64 {
	observed, mono := c.cluster.Load(), c.read().Mono
	if observed != c.observed.Load() {
		c.move(observed, observed-mono)
	}
	return c.base.Load() + mono
}

// move sets the time of tokens to the observed clock. It keeps the time if the observed clock moved forwards and the time is
// ahead of it by at most tokenClockLead.
func (c *tokenClock) move(observed, base int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if lead := c.base.Load() - base; observed < c.observed.Load() || lead < 0 || lead > tokenClockLead {
		c.base.Store(base)
	}
	c.observed.Store(observed)
}

// follow calls now at each beat until done is closed, so that the time follows the observed clock without callers.
func (c *tokenClock) follow(done <-chan struct{}) {
	beat := time.NewTicker(tokenClockBeat)
	defer beat.Stop()
	for {
		c.now()
		select {
		case <-beat.C:
		case <-done:
			return
		}
	}
}
