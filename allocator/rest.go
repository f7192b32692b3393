package allocator

import (
	"log/slog"
	"time"

	"github.com/snowraft/snowraft/internal/clock"
)

const (
	// maxRest is the time for which an idle lane sleeps unless a caller wakes it.
	maxRest = time.Hour
	// maxAsking is the time for which a lane whose worker is missing or lost requests a worker without a
	// waiting caller.
	maxAsking = time.Minute
)

// use records the use of a lane as run sees it. Callers leave no trace except the lease's position, so this
// record adds nothing to the cost of an ID; run compares positions when it wakes.
type use struct {
	position uint64 // position of the lease when run last looked; 0 without a lease
	at       int64  // Mono; when run last saw that the lane had been used
}

// rest returns how long the lane does nothing because no caller uses it, or 0 if it continues. When no caller
// has used the lane for [Config.Idle], rest closes the lease and releases the worker. A lane that serves calls
// rest right after an extension, and so keeps its window while the cluster has no quorum to grant another one.
// The lane does not rest while the clock is in the last tick that it used, because the next lease would have to
// wait for the next tick.
func (l *lane) rest(now clock.Reading, held *lease) time.Duration {
	if l.issuer.idle == 0 {
		return 0
	}
	limit, position, inUse := min(l.issuer.idle, maxAsking), uint64(0), false
	if held != nil {
		limit, position = l.issuer.idle, held.position.Load()
		inUse = position > held.first && held.layout.TickAt(now.Wall) <= held.tick(position-1)
	}
	l.mu.Lock()
	if l.wanted || position != l.used.position {
		l.used, l.wanted, l.idle = use{position, now.Mono}, false, false
	}
	unused := time.Duration(now.Mono-l.used.at) * time.Millisecond
	if l.idle || l.stopped || inUse || unused < limit {
		defer l.mu.Unlock()
		switch {
		case l.idle:
			return maxRest
		case held != nil && unused >= maxAsking:
			return maxAsking
		}
		return 0
	}
	if held != nil {
		l.close(held)
		l.lease.Store(nil)
	}
	release := held != nil && held != l.lost
	l.used.position, l.extension, l.lost, l.failures = 0, 0, nil, 0
	l.idle, l.problem, l.until = true, nil, time.Time{}
	l.mu.Unlock()
	l.issuer.changed.Send()
	l.log.Info("lane idle; acquiring a worker at the next use")
	l.note(slog.LevelInfo, "idle; acquiring a worker at the next use")
	l.releaseSoon(l.swapped)
	l.swapped = nil
	if release {
		l.releaseSoon(held)
	}
	return maxRest
}
