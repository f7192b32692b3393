package cluster

import (
	"strings"
	"sync"

	"github.com/snowraft/snowraft/cluster/screen"
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
		c.outcomes[to] = reasonOf(err)
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

// networkReasons maps the usual reasons in network errors, whose texts are long, to short forms.
var networkReasons = []struct{ in, short string }{
	{"connection refused", "connection refused"},
	{"no such host", "no such host"},
	{"no route to host", "no route to host"},
	{"network is unreachable", "network is unreachable"},
	{"connection reset", "connection reset"},
	{"timeout", "timed out"},
	{"deadline exceeded", "timed out"},
	{"EOF", "connection closed"},
	{screen.ErrRefused.Error(), "no member's gossip answers there"},
}

// reasonOf returns a short reason of a failed attempt to reach a node.
func reasonOf(err error) string {
	text := err.Error()
	for _, r := range networkReasons {
		if strings.Contains(text, r.in) {
			return r.short
		}
	}
	if _, reason, ok := strings.Cut(text, "failed to join "); ok { // memberlist's, with the address and several lines
		_, text, _ = strings.Cut(reason, ": ")
	}
	return strings.Join(strings.Fields(text), " ")
}
