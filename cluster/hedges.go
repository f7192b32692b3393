package cluster

import (
	"slices"
	"sync"
	"time"
)

// hedges start additional queries when a query takes long. One timer serves all of them and stays set while there are any.
// Setting a timer for each hedge would wake a thread each time, which costs as much as the query itself.
type hedges struct {
	mu    sync.Mutex
	open  []*hedge // earliest first
	timer *time.Timer
	set   bool
}

// hedge is a function that is started in its own goroutine, unless the hedge is removed before it is due.
type hedge struct {
	due   time.Time
	start func()
}

// add adds a hedge that is due after hedgeAfter.
func (hs *hedges) add(start func()) *hedge {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	h := &hedge{due: time.Now().Add(hedgeAfter), start: start}
	hs.open = append(hs.open, h)
	if !hs.set {
		hs.arm(hedgeAfter)
	}
	return h
}

// remove removes a hedge. It reports whether the hedge was not started, and so never will be.
func (hs *hedges) remove(h *hedge) bool {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	i := slices.Index(hs.open, h)
	if i < 0 {
		return false
	}
	hs.open = slices.Delete(hs.open, i, i+1)
	return true
}

// arm sets the timer. Requires hs.mu held.
func (hs *hedges) arm(d time.Duration) {
	hs.set = true
	if hs.timer == nil {
		hs.timer = time.AfterFunc(d, hs.fire)
	} else {
		hs.timer.Reset(d)
	}
}

// fire starts the hedges that are due.
func (hs *hedges) fire() {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	hs.set = false
	now := time.Now()
	for len(hs.open) > 0 && !hs.open[0].due.After(now) {
		go hs.open[0].start()
		hs.open = slices.Delete(hs.open, 0, 1)
	}
	if len(hs.open) > 0 {
		hs.arm(hs.open[0].due.Sub(now))
	}
}
