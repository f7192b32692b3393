package gossip

import (
	"errors"
	"time"
)

var errCrowded = errors.New("too many gossip nodes")

// roster bounds the names that memberlist keeps. Every process that reaches the gossip port can announce nodes, and memberlist
// keeps each of them: a live node as long as it is alive, and a dead node until a later round of probes removes it.
type roster struct {
	most  int
	after time.Duration // time after which memberlist has forgotten a dead node
	names map[string]rostered
}

type rostered struct {
	alive bool
	since time.Duration // time since which it is not alive, on the monotonic clock
}

func newRoster(most int, after time.Duration) *roster {
	return &roster{most: most, after: after, names: make(map[string]rostered)}
}

// admit adds a node; it returns errCrowded if there is no room. The caller calls joined when the node is alive.
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

// joined and left record whether a node is alive. They ignore a node that was not admitted to this roster.
func (r *roster) joined(name string) { r.note(name, rostered{alive: true}) }

func (r *roster) left(name string, now time.Duration) { r.note(name, rostered{since: now}) }

func (r *roster) note(name string, n rostered) {
	if _, known := r.names[name]; known {
		r.names[name] = n
	}
}
