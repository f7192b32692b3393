package cluster

import (
	"sync"

	"github.com/snowraft/snowraft/cluster/peer"
)

// contacts remembers the outcome of the last attempt to reach each of several nodes. Its zero value is ready for use.
type contacts struct {
	mu       sync.Mutex
	outcomes map[string]string // the reason of a failure; empty: answered
}

// note records the outcome of an attempt; err is nil if the attempt succeeded.
func (c *contacts) note(to string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.outcomes == nil {
		c.outcomes = make(map[string]string)
	}
	c.outcomes[to] = ""
	if err != nil {
		c.outcomes[to] = peer.Reason(err)
	}
}

// last returns the reason if the last attempt failed, and reports whether there was any attempt.
func (c *contacts) last(to string) (reason string, tried bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	reason, tried = c.outcomes[to]
	return reason, tried
}

// reset forgets all outcomes.
func (c *contacts) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.outcomes)
}
