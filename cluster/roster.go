package cluster

import (
	"errors"
	"time"
)

var errCrowded = errors.New("too many gossip nodes")

// roster bounds the names that memberlist keeps. Every process that reaches the gossip port can name nodes, and memberlist
// keeps each: a live one as long as it lives, another until a round of probes comes by, some time after it died.
type roster struct {
	most  int
	after time.Duration // by then memberlist has forgotten a node that is not alive
	names map[string]rostered
}

type rostered struct {
	alive bool
	since time.Duration // since when it is not, on the monotonic clock
}

func newRoster(most int, after time.Duration) *roster {
	return &roster{most: most, after: after, names: make(map[string]rostered)}
}

// admit returns errCrowded if memberlist has no room for a node. The caller calls joined when the node is alive.
func (r *roster) admit(name string, now time.Duration) error {
	if _, known := r.names[name]; known {
		return nil
	}
	if len(r.names) >= r.most {
		for old, n := range r.names {
			if !n.alive && now-n.since > r.after {
				delete(r.names, old)
			}
		}
	}
	if len(r.names) >= r.most {
		return errCrowded
	}
	r.names[name] = rostered{since: now}
	return nil
}

// joined and left change nothing for a node that was not admitted here.
func (r *roster) joined(name string) { r.note(name, rostered{alive: true}) }

func (r *roster) left(name string, now time.Duration) { r.note(name, rostered{since: now}) }

func (r *roster) note(name string, n rostered) {
	if _, known := r.names[name]; known {
		r.names[name] = n
	}
}
