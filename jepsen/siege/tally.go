package siege

import (
	"sync/atomic"
	"time"
)

// Phases of a siege. In between, strangers start or stop: only failures and slow calls count there.
const (
	Calm = iota
	Hostile
	between
	phases
)

// tally counts the calls of one protocol.
type tally struct {
	done    [phases]atomic.Uint64 // calls that began and ended in the phase
	failed  [phases]atomic.Uint64 // calls that began in the phase
	slowest [phases]atomic.Int64  // slowest call that began in the phase, ns

	time [phases]time.Duration // time of the machine in the protocol's turns, see machineTime; owned by Play
}

// count counts a call that began in the phase began and returned in the phase ended.
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
