package allocator_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowraft/snowraft/allocator"
)

// blocks is a BlockGranter with the rules of the state machine, and the auditor: it keeps every granted block.
// Numbers are represented by their index, so that a sequence may also descend.
type blocks struct {
	mu         sync.Mutex
	start      int64
	increment  int64
	length     uint64 // count of numbers; 0 if unlimited
	min, max   uint64
	duration   time.Duration
	generation uint64
	period     int32
	periodEnd  int64
	token      uint64
	granted    uint64 // index of the first number that was not granted
	last       uint64 // index of the first number of the last block
	key        allocator.ReturnKey
	grants     []grant
	returns    []uint64 // count of numbers in each return
	asked      []request

	delay  time.Duration
	before func() error // called with mu held; after an error, the call is not carried out
	after  func() error // called with mu held; after an error, the reply is lost
	forge  func(allocator.Block) allocator.Block
}

type grant struct {
	block allocator.Block
	lost  bool
}

type request struct {
	count uint64
	at    time.Time
}

func newBlocks() *blocks {
	return &blocks{start: 1, increment: 1, min: 100, max: 10_000_000, duration: 10 * time.Second, generation: 1}
}

func (c *blocks) set(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
}

func (c *blocks) requests() []request {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.asked)
}

func (c *blocks) grant(i int) allocator.Block {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.grants[i].block
}

func (c *blocks) returned() []uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.returns)
}

// other makes another member take numbers, and returns the token.
func (c *blocks) other(count uint64) (token uint64) {
	c.set(func() {
		c.token++
		c.last = c.granted
		c.granted += count
		token = c.token
	})
	return token
}

func (c *blocks) AllocateBlock(ctx context.Context, _ string, count uint64, key allocator.ReturnKey) (b allocator.Block, err error) {
	c.mu.Lock()
	delay := c.delay
	c.asked = append(c.asked, request{count, time.Now()})
	c.mu.Unlock()
	if delay > 0 {
		timer := time.NewTimer(delay / 2)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return b, ctx.Err()
		}
		defer func() {
			timer := time.NewTimer(delay - delay/2)
			defer timer.Stop()
			<-timer.C
		}()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.before != nil {
		if err := c.before(); err != nil {
			return b, err
		}
	}
	count = max(count, c.min)
	if c.length > 0 {
		count = min(count, c.length-c.granted)
		if count == 0 {
			return b, errExhausted
		}
	}
	c.token++
	b = allocator.Block{
		Token: c.token,
		Numbers: allocator.Numbers{
			First: c.start + int64(c.granted)*c.increment, Count: count, Increment: c.increment,
			Generation: c.generation, Period: c.period, PeriodEnd: c.periodEnd,
		},
		Duration: c.duration, MinCount: c.min, MaxCount: c.max,
	}
	c.last, c.granted, c.key = c.granted, c.granted+count, key
	if c.forge != nil {
		b = c.forge(b)
	}
	if c.after != nil {
		err = c.after()
	}
	c.grants = append(c.grants, grant{b, err != nil})
	return b, err
}

func (c *blocks) ReturnBlock(_ context.Context, _ string, token, unused uint64, key allocator.ReturnKey) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.before != nil {
		if err := c.before(); err != nil {
			return err
		}
	}
	if token != c.token || unused > c.granted-c.last || key != c.key {
		return allocator.ErrNotLastBlock
	}
	c.granted -= unused
	c.token++ // a second return is refused
	for i := range c.grants {
		if c.grants[i].block.Token == token {
			c.grants[i].block.Count -= unused // the next grant of these numbers is a new grant
		}
	}
	c.returns = append(c.returns, unused)
	return nil
}

// sequenceRig is one Sequence in a synctest bubble.
type sequenceRig struct {
	*testing.T
	blocks   *blocks
	clock    *hand
	cfg      allocator.SequenceConfig
	sequence *allocator.Sequence
}

func runSequence(t *testing.T, configure func(*sequenceRig), test func(*sequenceRig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := &sequenceRig{T: t, blocks: newBlocks(), clock: newHand()}
		r.cfg = allocator.SequenceConfig{Name: "orders", Granter: r.blocks, Key: allocator.ReturnKey{1}, Clock: r.clock.read}
		if configure != nil {
			configure(r)
		}
		r.sequence = allocator.OpenSequence(r.cfg)
		t.Cleanup(func() { _ = r.sequence.Close(context.Background()) })
		test(r)
	})
}

// next takes a run of numbers, which must be available.
func (r *sequenceRig) next(count uint64) allocator.Numbers {
	n, err := r.sequence.Next(r.Context(), count)
	if err != nil || n.Count != count {
		r.Helper() // too slow for each call of a load
		r.Fatalf("%d numbers instead of %d: %v", n.Count, count, err)
	}
	return n
}

// expect takes a run of numbers that must begin with first.
func (r *sequenceRig) expect(count uint64, first int64) {
	r.Helper()
	if n := r.next(count); n.First != first {
		r.Fatalf("%d numbers from %d instead of %d", count, n.First, first)
	}
}

// load takes single numbers at a rate for some time. It returns how many calls had to wait, and the longest
// wait.
func (r *sequenceRig) load(perSecond int, d time.Duration) (waited uint64, longest time.Duration) {
	r.Helper()
	before := r.sequence.Stats().Waited
	// In steps of at least 1 ms, because the calls within one millisecond run one after another anyway.
	step := max(time.Millisecond, time.Second/time.Duration(perSecond))
	start := time.Now()
	var taken int
	for time.Since(start) < d {
		time.Sleep(step)
		for ; taken < int(float64(perSecond)*time.Since(start).Seconds()); taken++ {
			longest = max(longest, timed(func() { r.next(1) }))
		}
	}
	return r.sequence.Stats().Waited - before, longest
}

func (r *sequenceRig) settle() { synctest.Wait() }
