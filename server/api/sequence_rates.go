package api

import (
	"sync"
	"time"

	"github.com/snowraft/snowraft/fsm"
)

const (
	// rateWindow is the time that a rate is measured over at most, once per rateStep.
	rateWindow = 30 * time.Second
	rateStep   = time.Second
	// ratesKept bounds the sequences with a rate. One that no caller looked at for rateForget makes room.
	ratesKept  = 4096
	rateForget = 2 * rateWindow
)

// rates measures how fast numbers of sequences are granted, by how far the replica's next number moves between two looks: so
// it covers all members and clients, and a block counts when it is granted. It costs nothing while no caller looks. Its
// methods may be called from any goroutine, with times on the monotonic clock.
type rates struct {
	mu    sync.Mutex
	known map[string]*track
	swept time.Duration // the last time that tracks made room
}

// track is the last looks at a sequence.
type track struct {
	incarnation, generation uint64
	period                  int32
	looks                   []look // the oldest first, at most rateWindow/rateStep+1
}

// look is the number of numbers that were left at a time.
type look struct {
	at        time.Duration
	remaining uint64
}

// rate notes a look at a sequence, and returns the numbers granted per second and the time that this was measured over;
// false before the second look, and after a change of the sequence.
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

// add returns a new track, nil if there is no room. Requires r.mu.
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
