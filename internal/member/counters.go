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

// ErrStrict says that only the leader issues numbers of a sequence.
var ErrStrict = errors.New("sequence is strict: blocks are not available; call NextNumbers")

// counter is a sequence as this member knows it, and its own numbers of it while
// it is relaxed. Counters appear when they are used first.
type counter struct {
	known   atomic.Pointer[known]
	numbers *allocator.Sequence
}

// known is the replica's state of a sequence at a revision of its sequences.
type known struct {
	revision   uint64
	definition *definition
}

// counters are a member's counters by name. There can be 100,000, so they are added
// to the map one by one, and it has a lock. It is held for a lookup only.
type counters struct {
	mu     sync.RWMutex
	byName map[string]*counter
	gone   allocator.SequenceStats // of counters that were removed
	closed bool
}

func (c *counters) get(name string) *counter {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.byName[name]
}

// add returns the counter of that name, which open makes if there is none, with what is known of it.
func (c *counters) add(name string, k *known, open func() *allocator.Sequence) (*counter, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, allocator.ErrClosed
	}
	added := c.byName[name]
	if added == nil {
		added = &counter{numbers: open()}
		c.byName[name] = added
	}
	added.known.Store(k)
	return added, nil
}

// remove forgets the counter of a sequence that is gone.
func (c *counters) remove(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if removed := c.byName[name]; removed != nil {
		add(&c.gone, removed.numbers.Stats())
		delete(c.byName, name)
	}
}

// stats adds up what all counters did. They are looked at without the lock, so that a first use of a sequence, and with
// it all others, does not wait for that.
func (c *counters) stats() allocator.SequenceStats {
	c.mu.RLock()
	sum, all := c.gone, slices.Collect(maps.Values(c.byName))
	c.mu.RUnlock()
	for _, each := range all {
		add(&sum, each.numbers.Stats())
	}
	return sum
}

func add(sum *allocator.SequenceStats, s allocator.SequenceStats) {
	sum.Taken += s.Taken
	sum.Waited += s.Waited
	sum.Skipped += s.Skipped
	sum.Blocks += s.Blocks
}

// sweep removes the counters of sequences that are gone, when there are many.
func (c *counters) sweep(live int, exists func(name string) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.byName) <= manyGone(live) {
		return
	}
	for name, each := range c.byName {
		if !exists(name) {
			add(&c.gone, each.numbers.Stats())
			delete(c.byName, name)
		}
	}
}

// manyGone is how many may be kept in memory by name, gone ones among them, while so many
// sequences exist: it is not worth looking at all of them each time one is deleted.
func manyGone(live int) int { return 2*live + 100 }

// close returns the sequences, which the caller closes; there will be no others.
func (c *counters) close() []*allocator.Sequence {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	var all []*allocator.Sequence
	for _, each := range c.byName {
		all = append(all, each.numbers)
	}
	return all
}

// closeCounters gives the rests of blocks back; ctx bounds that.
func (m *Member) closeCounters(ctx context.Context) error {
	all := m.counters.close()
	if lt := m.leaderTerm.Load(); lt != nil {
		all = append(all, lt.close()...)
	}
	// Each may cost a round through the log, many of which go together.
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
