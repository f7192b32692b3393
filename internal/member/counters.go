package member

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/snowraft/snowraft/allocator"
	"github.com/snowraft/snowraft/cluster"
	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/internal/mutant"
)

// ErrStrict says that a sequence is numbered by the leader alone.
var ErrStrict = errors.New("the sequence is strict: the leader numbers it, and nobody gets a block of it")

// counter is a sequence as this member knows it, and its own numbers of it while
// it is relaxed. Counters appear when they are used first.
type counter struct {
	known   atomic.Pointer[known]
	numbers *allocator.Sequence
}

// known is what the replica said of a sequence at a revision of its sequences.
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

// stats adds up what all counters did.
func (c *counters) stats() allocator.SequenceStats {
	c.mu.RLock()
	defer c.mu.RUnlock()
	sum := c.gone
	for _, each := range c.byName {
		add(&sum, each.numbers.Stats())
	}
	return sum
}

func add(sum *allocator.SequenceStats, s allocator.SequenceStats) {
	sum.Given += s.Given
	sum.Waited += s.Waited
	sum.Burned += s.Burned
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

// counter finds a sequence and what is known of it now. It fails with an
// [UnknownSequenceError], or, while this member can't tell, with [ErrNoLeader].
func (m *Member) counter(ctx context.Context, name string) (*counter, *definition, error) {
	c, d, err := m.counterHere(name)
	if !errors.Is(err, errNotHere) {
		return c, d, err
	}
	if err := m.settleSequence(ctx, name); err != nil {
		return nil, nil, err
	}
	if c, d, err = m.counterHere(name); errors.Is(err, errNotHere) {
		err = m.unknownSequence(name)
	}
	return c, d, err
}

// errNotHere is that this member's replica does not have a sequence, which may exist.
var errNotHere = errors.New("this member does not know the sequence")

// counterHere is counter as far as this member's replica knows; it does not wait.
func (m *Member) counterHere(name string) (*counter, *definition, error) {
	// Read before the sequence: should it change in between, it is looked at again.
	revision := m.fsm.SequenceRevision().Load()
	c := m.counters.get(name)
	if c != nil {
		if k := c.known.Load(); k.revision == revision {
			return c, k.definition, nil
		}
	}
	s, ok := m.fsm.Sequence(name)
	if !ok {
		if c != nil {
			m.counters.remove(name)
		}
		return nil, nil, errNotHere
	}
	d, err := define(s.Spec, s.Generation)
	if err != nil {
		return nil, nil, err
	}
	k := &known{revision: revision, definition: d}
	c, err = m.counters.add(name, k, func() *allocator.Sequence { return m.openSequence(name, blockGranter{m}) })
	return c, d, err
}

func (m *Member) openSequence(name string, g allocator.BlockGranter) *allocator.Sequence {
	var first uint64
	if s, ok := m.fsm.Sequence(name); ok {
		const usual = 100
		first = max(s.Spec.GetMinBlock(), min(usual, s.Spec.GetMaxBlock()))
	}
	return allocator.OpenSequence(allocator.SequenceConfig{
		Name: name, Granter: g, Clock: m.clock.Now,
		Revision:   m.fsm.SequenceRevision(),
		Current:    func() (uint64, int32, bool) { return m.fsm.SequenceStamp(name) },
		FirstBlock: first,
		Logger:     m.logger,
	})
}

// SequenceStats is what this member did with blocks of relaxed sequences, of all in sum.
func (m *Member) SequenceStats() allocator.SequenceStats { return m.counters.stats() }

// Sequence is a sequence as this member's replica has it. It fails with an [UnknownSequenceError],
// or, while this member can't tell, with [ErrNoLeader].
func (m *Member) Sequence(ctx context.Context, name string) (fsm.Sequence, error) {
	if s, ok := m.fsm.Sequence(name); ok {
		return s, nil
	}
	if err := m.settleSequence(ctx, name); err != nil {
		return fsm.Sequence{}, err
	}
	if s, ok := m.fsm.Sequence(name); ok {
		return s, nil
	}
	return fsm.Sequence{}, m.unknownSequence(name)
}

// Next gives out the next count numbers of a relaxed sequence from this member's blocks.
// Of a strict one it gives none: [ErrStrict]; see [Member.NextAtLeader].
func (m *Member) Next(ctx context.Context, name string, count uint64) (Numbering, error) {
	c, d, err := m.counter(ctx, name)
	if err != nil {
		return Numbering{}, err
	}
	if d.strict {
		return Numbering{}, ErrStrict
	}
	n, err := c.numbers.Next(ctx, count)
	if err != nil {
		return Numbering{}, err
	}
	return m.written(ctx, name, d, n)
}

// written says how numbers are written that were given out now, while d was the definition a moment ago.
func (m *Member) written(ctx context.Context, name string, d *definition, n allocator.Numbers) (Numbering, error) {
	if n.Generation > d.generation {
		// The sequence was changed while the call waited, perhaps further on in the log than this
		// replica is: the generation is the change's place there.
		if err := m.fsm.AwaitApplied(ctx, n.Generation); err != nil {
			return Numbering{}, err
		}
		var err error
		if _, d, err = m.counter(ctx, name); err != nil {
			return Numbering{}, err
		}
	}
	if n.Generation != d.generation && !mutant.On(mutant.KeepOutdatedBlock) {
		return Numbering{}, fmt.Errorf("sequence %q: %w", name, allocator.ErrOutdatedBlock)
	}
	return d.numbering(n, m.clock.Now().Wall), nil
}

// TryNext is Next if this member's blocks have the numbers now; it does not wait. It gives out
// none if not ok, for whatever reason, which Next tells.
func (m *Member) TryNext(name string, count uint64) (n Numbering, ok bool) {
	if m.counters.get(name) == nil {
		return Numbering{}, false // not used yet, or unknown, of which the error takes long to word
	}
	c, d, err := m.counterHere(name)
	if err != nil || d.strict {
		return Numbering{}, false
	}
	numbers, ok := c.numbers.TryNext(count)
	if !ok || numbers.Generation != d.generation {
		return Numbering{}, false
	}
	return d.numbering(numbers, m.clock.Now().Wall), true
}

// Last is the last number of a relaxed sequence that this member gave out, or, as
// long as it has given out none, the last one that was granted to anybody.
func (m *Member) Last(ctx context.Context, name string) (last int64, ok bool, err error) {
	c, d, err := m.counter(ctx, name)
	if err != nil {
		return 0, false, err
	}
	if d.strict {
		return 0, false, ErrStrict
	}
	if last, ok := c.numbers.Last(); ok {
		return last, true, nil
	}
	s, err := m.Sequence(ctx, name)
	return s.Last, s.HasLast, err
}

// NextAtLeader gives out the next count numbers of a sequence; only the leader can,
// others fail with [cluster.ErrNotLeader]. Those of a strict sequence are greater
// (with a negative increment: smaller) than all that were given out before the call. A
// repetition with the same request ID, if it is not empty, is answered with the same numbers.
func (m *Member) NextAtLeader(ctx context.Context, name string, count uint64, requestID string) (Numbering, error) {
	r := m.reign.Load()
	if r == nil {
		return Numbering{}, cluster.ErrNotLeader
	}
	_, d, err := m.counter(ctx, name)
	switch {
	case err != nil:
		return Numbering{}, err
	case requestID == "" && !d.strict:
		return m.Next(ctx, name, count)
	case requestID == "":
		n, err := r.sequence(name).next(ctx, count)
		if err != nil {
			return Numbering{}, err
		}
		return m.written(ctx, name, d, n)
	}
	return r.sequence(name).record(ctx, count, requestID)
}

// LastAtLeader is the last number of a sequence that was given out, by anybody if
// it is strict; only the leader can tell.
func (m *Member) LastAtLeader(ctx context.Context, name string) (last int64, ok bool, err error) {
	r := m.reign.Load()
	if r == nil {
		return 0, false, cluster.ErrNotLeader
	}
	_, d, err := m.counter(ctx, name)
	switch {
	case err != nil:
		return 0, false, err
	case !d.strict:
		return m.Last(ctx, name)
	}
	return r.sequence(name).last(ctx)
}

// closeCounters gives the rests of blocks back; ctx bounds that.
func (m *Member) closeCounters(ctx context.Context) error {
	all := m.counters.close()
	if r := m.reign.Load(); r != nil {
		all = append(all, r.close()...)
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
