package api

import (
	"sync"
	"time"

	"github.com/snowraft/snowraft/fsm"
)

const (
	// rateWindow is the longest time over which a rate is measured. rateStep is the shortest time between two kept looks.
	rateWindow = 30 * time.Second
	rateStep   = time.Second
	// ratesKept is the maximum number of sequences with a rate. A sequence without a look for rateForget makes room for others.
	ratesKept  = 4096
	rateForget = 2 * rateWindow
)

// rates measures how fast the numbers of sequences are granted: by the change of the replica's remaining numbers between two
// looks. A rate therefore covers all members and clients, and a block counts when it is granted. rates costs nothing while no
// caller looks. Its methods are safe for concurrent use and take times on the monotonic clock.
type rates struct {
	mu    sync.Mutex
	known map[string]*track
	swept time.Duration // time of the last removal of old tracks
}

// track holds the last looks at a sequence.
type track struct {
	incarnation, generation uint64
	period                  int32
	looks                   []look // oldest first, at most rateWindow/rateStep+1
}

// look is the number of remaining numbers at a time.
type look struct {
	at        time.Duration
	remaining uint64
}

// rate notes a look at a sequence. It returns the numbers granted per second and the time over which they were measured. ok is
// false until rateStep after the first look, and again after a change of the sequence.
func (r *rates) rate(s fsm.Sequence, at time.Duration) (perSecond float64, over time.Duration, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	name := s.Spec.GetName()
	t := r.known[name]
	if t == nil {
		if t = r.add(name, at); t == nil {
			return 0, 0, false
		}
	}
	if t.incarnation != s.Incarnation || t.generation != s.Generation || t.period != s.Period {
		*t = track{incarnation: s.Incarnation, generation: s.Generation, period: s.Period}
	}
	for len(t.looks) > 0 && at-t.looks[0].at > rateWindow {
		t.looks = t.looks[1:]
	}
	if n := len(t.looks); n == 0 || at-t.looks[n-1].at >= rateStep {
		t.looks = append(t.looks, look{at, s.Remaining})
	}
	first := t.looks[0]
	if over = at - first.at; over < rateStep {
		return 0, 0, false
	}
	granted := first.remaining - s.Remaining
	if s.Remaining > first.remaining { // the end of a block was returned
		granted = 0
	}
	return float64(granted) / over.Seconds(), over, true
}

// add returns a new track; nil if there is no room. Requires r.mu held.
func (r *rates) add(name string, at time.Duration) *track {
	if r.known == nil {
		r.known = make(map[string]*track)
	}
	if len(r.known) >= ratesKept && at-r.swept >= rateStep {
		r.swept = at
		for name, t := range r.known {
			if len(t.looks) == 0 || at-t.looks[len(t.looks)-1].at > rateForget {
				delete(r.known, name)
			}
		}
	}
	if len(r.known) >= ratesKept {
		return nil
	}
	t := &track{}
	r.known[name] = t
	return t
}
