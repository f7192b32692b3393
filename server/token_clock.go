package server

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/snowraft/snowraft/internal/clock"
)

const (
	// tokenClockBeat is the interval at which a tokenClock looks at the observed clock.
	tokenClockBeat = time.Second
	// tokenClockLead is the time by which the time of tokens may be ahead of the observed clock when that moves.
	tokenClockLead = 5000 // ms
)

// tokenClock is the time by which tokens expire: the cluster's observed clock, and the monotonic time since that moved. The
// wall clock of this member does not count, and while the observed clock stands still, as on a member that is cut off, the
// time continues.
type tokenClock struct {
	cluster *atomic.Int64 // the observed clock, Unix ms
	read    clock.Source

	mu       sync.Mutex   // held to move base
	base     atomic.Int64 // the time of tokens minus the monotonic clock, ms
	observed atomic.Int64 // the observed clock that base follows, Unix ms
}

// now returns the time in Unix milliseconds.
func (c *tokenClock) now() int64 {
	observed, mono := c.cluster.Load(), c.read().Mono
	if observed != c.observed.Load() {
		c.move(observed, observed-mono)
	}
	return c.base.Load() + mono
}

// move sets the time to the observed clock, unless it is ahead by no more than it gained since that moved last.
func (c *tokenClock) move(observed, base int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if lead := c.base.Load() - base; observed < c.observed.Load() || lead < 0 || lead > tokenClockLead {
		c.base.Store(base)
	}
	c.observed.Store(observed)
}

// follow notes in time when the observed clock moves.
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
