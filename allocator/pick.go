package allocator

import (
	"math/rand/v2"
	"sync"
)

// picker spreads callers over lanes so that callers on different processors seldom meet: if two of them move
// the same position in turn, the cache line that travels between their processors costs more than the ID.
//
// A sync.Pool keeps an item with the processor that put it, so the lane that get and put pass through the pool
// is in effect a variable of the processor. The variable changes when its lane has nothing to issue, and when
// another processor turns out to use the same lane. Doug Lea's Striped64 (java.util.concurrent.LongAdder)
// assigns its cells in this way.
type picker struct {
	pool  sync.Pool // holds *int
	lanes []int     // 0, 1, 2, ...; the pool's pointers point to these
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

// put records the lane that served, and whether other callers were using it.
func (p *picker) put(lane int, contended bool) {
	if contended {
		lane = rand.IntN(len(p.lanes))
	}
	p.pool.Put(&p.lanes[lane])
}
