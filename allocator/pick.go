package allocator

import (
	"math/rand/v2"
	"sync"
)

// picker spreads callers over lanes so that those on different processors seldom
// meet: where two of them move the same position in turn, the cache line that
// travels between them costs more than the ID.
//
// A sync.Pool keeps what was put into it with the processor that put it, so the
// lane that get and put pass through one is in effect a variable of the
// processor. It changes when its lane has nothing to give, and when another
// processor turns out to use the same one: how Doug Lea's Striped64
// (java.util.concurrent.LongAdder) finds out who is to use which cell.
type picker struct {
	pool  sync.Pool // of *int
	lanes []int     // 0, 1, 2, ...: what the pool's pointers point to
}

func newPicker(lanes int) *picker {
	p := &picker{lanes: make([]int, lanes)}
	for i := range p.lanes {
		p.lanes[i] = i
	}
	return p
}

// get returns the lane to try first.
func (p *picker) get() int {
	if preferred, ok := p.pool.Get().(*int); ok {
		return *preferred
	}
	return rand.IntN(len(p.lanes))
}

// put notes which lane gave something, and whether others were using it.
func (p *picker) put(lane int, contended bool) {
	if contended {
		lane = rand.IntN(len(p.lanes))
	}
	p.pool.Put(&p.lanes[lane])
}
