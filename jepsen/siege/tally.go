package siege

import (
	"sync/atomic"
	"time"
)

// The phases of a siege. Between is the time in which strangers come and go: its calls are not counted, but its failures are.
const (
	Calm = iota
	Hostile
	between
	phases
)

// tally counts the calls of one protocol.
type tally struct {
	done    [phases]atomic.Uint64 // that began and ended in one phase
	failed  [phases]atomic.Uint64 // that began in it
	slowest [phases]atomic.Int64  // call that began in it, ns

	time [phases]time.Duration // of the protocol's turns; owned by Play
}

// count counts a call that began in one phase and ended in another or the same.
func (t *tally) count(began, ended int, took time.Duration, err error) {
	if err != nil {
		t.failed[began].Add(1)
		return
	}
	if began == ended {
		t.done[began].Add(1)
	}
	for slowest := &t.slowest[began]; ; {
		before := slowest.Load()
		if before >= int64(took) || slowest.CompareAndSwap(before, int64(took)) {
			return
		}
	}
}
