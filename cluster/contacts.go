package cluster

import (
	"sync"

	"github.com/snowraft/snowraft/cluster/peer"
)

// contactOutcomes remembers the outcome of the last attempt to reach each of several nodes. Its zero value is ready for use.
type contactOutcomes struct {
	mu       sync.Mutex
	outcomes map[string]string // the reason of a failure; empty: answered
}

// record records the outcome of an attempt; err is nil if the attempt succeeded.
func (c *contactOutcomes) record(to string, err error) {
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

// lastFailure returns the reason if the last attempt failed, and reports whether there was any attempt.
func (c *contactOutcomes) lastFailure(to string) (reason string, tried bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	reason, tried = c.outcomes[to]
	return reason, tried
}

// reset forgets all outcomes.
func (c *contactOutcomes) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.outcomes)
}
