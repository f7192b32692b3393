package member

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/snowraft/snowraft/allocator"
)

// ErrStrict reports that only the leader issues numbers of a sequence.
var ErrStrict = errors.New("the sequence is strict and has no blocks; request its numbers from members (NextNumbers)")

// counter is a sequence as this member knows it, and this member's own numbers of the
// sequence while it is relaxed. Counters are added at their first use. A counter of which some definition
// was not strict has numbers; one of the many strict sequences needs no memory for them.
type counter struct {
	known  atomic.Pointer[known]
	opened atomic.Pointer[allocator.Sequence] // see numbers
}

// numbers returns the numbers; nil if all definitions so far were strict.
func (c *counter) numbers() *allocator.Sequence { return c.opened.Load() }

// count adds the counts of the numbers to a sum.
func (c *counter) count(sum *allocator.SequenceStats) {
	if n := c.numbers(); n != nil {
		s := n.Stats()
		sum.Taken += s.Taken
		sum.Waited += s.Waited
		sum.Skipped += s.Skipped
		sum.Blocks += s.Blocks
	}
}

// known is the definition of a sequence in this member's replica at a sequence revision.
type known struct {
	revision   uint64
	definition *definition
}

// counters holds a member's counters by name. There can be 100,000, so they are added
// to the map one by one, under a lock. The lock is held for lookups and changes of the
// map only.
type counters struct {
	mu     sync.RWMutex
	byName map[string]*counter
	gone   allocator.SequenceStats // sum over the counters that were removed
	closed bool
}

func (c *counters) get(name string) *counter {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.byName[name]
}

// add returns the counter of that name with its known replaced by k, and adds it if it is new. Unless the definition is strict,
// add opens its numbers.
func (c *counters) add(name string, k *known, open func() *allocator.Sequence) (*counter, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, allocator.ErrClosed
	}
	added := c.byName[name]
	if added == nil {
		added = &counter{}
		c.byName[name] = added
	}
	if !k.definition.strict && added.numbers() == nil {
		added.opened.Store(open())
	}
	added.known.Store(k)
	return added, nil
}

// remove forgets the counter of a sequence, unless the sequence exists again. So all calls that hold a removed counter
// began before the deletion.
func (c *counters) remove(name string, exists func(name string) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if removed := c.byName[name]; removed != nil && !exists(name) {
		removed.count(&c.gone)
		delete(c.byName, name)
	}
}

// stats returns the sum over all counters. It reads them without the lock, so that neither a first use of a sequence nor
// the lookups behind it wait for the sum.
func (c *counters) stats() allocator.SequenceStats {
	c.mu.RLock()
	sum, all := c.gone, slices.Collect(maps.Values(c.byName))
	c.mu.RUnlock()
	for _, each := range all {
		each.count(&sum)
	}
	return sum
}

// sweep removes the counters of sequences that were deleted, if there are many counters.
func (c *counters) sweep(live int, exists func(name string) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.byName) <= manyGone(live) {
		return
	}
	for name, each := range c.byName {
		if !exists(name) {
			each.count(&c.gone)
			delete(c.byName, name)
		}
	}
}

// manyGone returns the greatest number of sequences, deleted ones included, to keep in memory by
// name while live sequences exist: a check of all of them after each deletion would cost too much.
func manyGone(live int) int { return 2*live + 100 }

// close returns the sequences, which the caller closes. No others are added after that.
func (c *counters) close() []*allocator.Sequence {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	var all []*allocator.Sequence
	for _, each := range c.byName {
		if n := each.numbers(); n != nil {
			all = append(all, n)
		}
	}
	return all
}

// closeCounters returns the unused ends of blocks; ctx bounds the time for that.
func (m *Member) closeCounters(ctx context.Context) error {
	all := m.counters.close()
	if lt := m.leaderTerm.Load(); lt != nil {
		all = append(all, lt.close()...)
	}
	// Each sequence may need a command in the log. Commands that are proposed together are replicated together.
	const atOnce = 64
	var wg sync.WaitGroup
	var mu sync.Mutex
	var errs []error
	queue := make(chan *allocator.Sequence)
	for range min(atOnce, len(all)) {
		wg.Go(func() {
			for s := range queue {
				if err := s.Close(ctx); err != nil {
					mu.Lock()
					errs = append(errs, err)
					mu.Unlock()
				}
			}
		})
	}
	for _, s := range all {
		queue <- s
	}
	close(queue)
	wg.Wait()
	if len(errs) > 1 {
		return errors.Join(errs[0], errors.New("and others"))
	}
	return errors.Join(errs...)
}
