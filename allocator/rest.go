package allocator

import (
	"log/slog"
	"time"

	"github.com/snowraft/snowraft/internal/clock"
)

const (
	// maxRest is the time that an idle lane sleeps unless a caller wakes it.
	maxRest = time.Hour
	// maxAsking is the time that a lane whose worker is missing or lost requests one that no caller waits for.
	maxAsking = time.Minute
)

// use is the use of a lane as run sees it. Callers leave no trace but the lease's
// position, so that an ID costs nothing more; run compares positions when it wakes.
type use struct {
	position uint64 // of the lease when run looked last; 0 without one
	at       int64  // Mono; when run last saw that the lane had been used
}

// rest returns how long the lane does nothing because no caller uses it, 0 if it goes on. When
// none has used it for [Config.Idle] it closes the lease and releases the worker. A lane that serves looks
// right after an extension, and so keeps its window while the cluster has no quorum to grant another.
// While the clock is in the last tick that it used, it would have to wait for the next one.
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
	l.issuer.changed.fire()
	l.log.Info("lane idle; acquiring a worker at the next use")
	l.note(slog.LevelInfo, "idle; acquiring a worker at the next use")
	l.releaseSoon(l.swapped)
	l.swapped = nil
	if release {
		l.releaseSoon(held)
	}
	return maxRest
}
