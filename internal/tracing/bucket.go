package tracing

import (
	"sync"
	"time"
)

// bucket is a token bucket for spans: no sampler of the SDK limits spans per second. Its capacity is the number of tokens that one second adds.
type bucket struct {
	rate float64 // per second

	mu    sync.Mutex
	spent float64
	last  time.Time
}

// take takes one token. It returns false if there is none.
func (b *bucket) take(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if refilled := now.Sub(b.last).Seconds() * b.rate; refilled > 0 {
		b.spent, b.last = max(0, b.spent-refilled), now
	}
	if b.spent+1 > b.rate {
		return false
	}
	b.spent++
	return true
}
