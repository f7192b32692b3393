//go:build linux

package nemesis

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

func TestTurns(t *testing.T) {
	t.Parallel()
	turns := newTurns()
	var now, most atomic.Int64
	var wg sync.WaitGroup
	for n := range 200 {
		wg.Go(func() {
			alone := n%10 == 0
			defer turns.take(alone, false)()
			at := now.Add(1)
			if alone && at != 1 {
				t.Errorf("%d simultaneous faults, want only the one that is Alone", at)
			}
			for range 100 {
				runtime.Gosched() // lets other faults begin
				most.Store(max(most.Load(), now.Load()))
			}
			now.Add(-1)
		})
	}
	wg.Wait()
	if most.Load() != mostOverlap {
		t.Errorf("%d simultaneous faults, want %d", most.Load(), mostOverlap)
	}
}
