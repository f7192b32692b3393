package allocator_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowraft/snowraft/allocator"
)

// world holds the parameters of a model run. Chances are in percent, of each call or each event.
type world struct {
	seed                   uint64
	increment              int64
	delay, lag             time.Duration // delay of grants; greatest lag of the knowledge here
	skew                   time.Duration // offset by which the granter's clock is behind
	period                 time.Duration // 0 means no reset
	length, min            uint64
	fails, lost            int
	others, changes, drops int
	hostile                int
}

var errUnknown = errors.New("no such sequence")

// run is one run of the model, and its auditor.
type modelRun struct {
	world
	blocks   *blocks
	clock    *hand
	sequence *allocator.Sequence
	revision atomic.Uint64
	gone     bool // the granter's sequence does not exist

	mu    sync.Mutex
	known known
	seen  known // same as known, but only after the revision has changed

	order   atomic.Int64
	records []answer
}

type known struct {
	generation uint64
	period     int32
	gone       bool
}

// answer is a run of numbers, with the facts at the time of its request.
type answer struct {
	asked, answered int64
	generation      uint64 // latest known generation; as above
	period          int32
	wall            int64
	numbers         allocator.Numbers
}

func (m *modelRun) current() (uint64, int32, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.known.generation, m.known.period, !m.known.gone
}

// learn makes the granter's present state known, after a lag.
func (m *modelRun) learn(r *rand.Rand) {
	var generation uint64
	var period int32
	var gone bool
	m.blocks.set(func() { generation, period, gone = m.blocks.generation, m.blocks.period, m.gone })
	time.Sleep(time.Duration(r.Int64N(int64(m.lag) + 1)))
	m.mu.Lock()
	m.known = known{generation, period, gone}
	m.mu.Unlock()
	m.revision.Add(1)
	m.mu.Lock()
	m.seen = m.known
	m.mu.Unlock()
}

// turn moves the granter on to the period of its clock. Requires mu of blocks.
func (m *modelRun) turn() {
	if m.period == 0 {
		return
	}
	base, length := someDay.UnixMilli(), m.period.Milliseconds()
	k := (m.clock.read().Wall - m.skew.Milliseconds() - base + length) / length
	if p := int32(20260701 + k); p > m.blocks.period {
		m.blocks.period, m.blocks.periodEnd = p, base+k*length
		m.blocks.granted, m.blocks.last = 0, 0
	}
}

// walk runs a world and returns the first fault.
func walk(t *testing.T, w world) (fault string) {
	synctest.Test(t, func(t *testing.T) {
		m := &modelRun{world: w, blocks: newBlocks(), clock: newHand()}
		random := rand.New(rand.NewPCG(w.seed, 1)) // guarded by blocks.mu
		c := m.blocks
		c.increment, c.delay, c.length, c.min, c.duration = w.increment, w.delay, w.length, w.min, 300*time.Millisecond
		c.before = func() error {
			m.turn()
			switch {
			case m.gone:
				return errUnknown
			case random.IntN(100) < w.fails:
				return errDown
			}
			return nil
		}
		c.after = func() error {
			if random.IntN(100) < w.lost {
				return errDown
			}
			return nil
		}
		c.forge = func(b allocator.Block) allocator.Block {
			if len(c.grants) == 0 || random.IntN(100) >= w.hostile {
				return b
			}
			old := c.grants[random.IntN(len(c.grants))].block
			switch random.IntN(4) {
			case 0:
				return old
			case 1:
				old.Token = b.Token
				return old
			case 2:
				b.Count = 1 << 63
			case 3:
				b.Increment = 0
			}
			return b
		}
		m.known.generation = 1
		m.sequence = allocator.OpenSequence(allocator.SequenceConfig{
			Name: "model", Granter: c, Clock: m.clock.read, Revision: &m.revision, Current: m.current,
		})
		fault = m.play(t.Context())
	})
	return fault
}

func (m *modelRun) play(ctx context.Context) string {
	var callers, others sync.WaitGroup
	faults := make(chan string, 1000)
	over := make(chan struct{})
	others.Go(func() { m.disturb(over) })
	for g := range 6 {
		callers.Go(func() {
			r := rand.New(rand.NewPCG(m.seed, 100+uint64(g)))
			for range 150 {
				if fault := m.call(ctx, r); fault != "" {
					faults <- fault
					return
				}
				if r.IntN(4) == 0 {
					time.Sleep(time.Duration(r.Int64N(int64(30 * time.Millisecond))))
				}
			}
		})
	}
	// Some calls run while it closes, and afterwards.
	callers.Go(func() {
		time.Sleep(time.Second)
		_ = m.sequence.Close(ctx)
		m.blocks.other(10)
	})
	callers.Wait()
	close(over)
	others.Wait()
	if fault := m.call(ctx, rand.New(rand.NewPCG(1, 1))); fault != "" {
		return fault
	}
	select {
	case fault := <-faults:
		return fault
	default:
	}
	return m.audit()
}

// disturb runs the events around the Sequence.
func (m *modelRun) disturb(over chan struct{}) {
	r := rand.New(rand.NewPCG(m.seed, 2))
	for {
		select {
		case <-over:
			return
		case <-time.After(time.Duration(r.Int64N(int64(40 * time.Millisecond)))):
		}
		if r.IntN(100) < m.others {
			m.blocks.set(func() {
				c := m.blocks
				n := uint64(r.IntN(50))
				if c.length > 0 {
					n = min(n, c.length-c.granted)
				}
				c.token++
				c.last, c.granted = c.granted, c.granted+n
			})
		}
		if r.IntN(100) < m.changes {
			m.blocks.set(func() {
				c := m.blocks
				if m.gone = !m.gone && r.IntN(4) == 0; m.gone {
					return
				}
				c.generation++
				if r.IntN(2) == 0 {
					c.granted, c.last = 0, 0 // forced back
				}
				if r.IntN(2) == 0 {
					c.increment = -c.increment
				}
			})
			m.learn(r)
		}
		if m.period > 0 && r.IntN(2) == 0 {
			m.blocks.set(m.turn)
			m.learn(r)
		}
		if r.IntN(100) < m.drops {
			if r.IntN(2) == 0 {
				_ = m.sequence.Return(context.Background()) // may be too late
			}
			m.sequence.DropBefore(m.blocks.other(0))
		}
	}
}

// call requests numbers once.
func (m *modelRun) call(ctx context.Context, r *rand.Rand) (fault string) {
	count := uint64(1)
	switch r.IntN(10) {
	case 0:
		count = 1 + r.Uint64N(300)
	case 1:
		count = 1 + r.Uint64N(10)
	}
	if r.IntN(10) == 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(r.Int64N(int64(20*time.Millisecond))))
		defer cancel()
	}
	var a answer
	revision := m.revision.Load()
	m.mu.Lock()
	seen := m.seen // known before the call, so the call must use it
	m.mu.Unlock()
	a.generation, a.period, a.wall = seen.generation, seen.period, m.clock.read().Wall
	a.asked = m.order.Add(1)
	n, err := m.sequence.Next(ctx, count)
	a.answered = m.order.Add(1)
	switch {
	case err == nil && seen.gone && revision == m.revision.Load():
		return fmt.Sprintf("%+v was issued, and the sequence is gone", n)
	case err == nil && n.Count != count:
		return fmt.Sprintf("%d numbers instead of %d", n.Count, count)
	case err == nil:
		a.numbers = n
		m.mu.Lock()
		m.records = append(m.records, a)
		m.mu.Unlock()
	case errors.Is(err, errDown), errors.Is(err, errUnknown), errors.Is(err, errExhausted), errors.Is(err, allocator.ErrClosed),
		errors.Is(err, allocator.ErrOutdatedBlock), errors.Is(err, context.DeadlineExceeded):
	case m.hostile > 0: // an impossible block
	default:
		return err.Error()
	}
	return ""
}

// audit checks all issued numbers.
func (m *modelRun) audit() string {
	type number struct {
		generation uint64
		period     int32
		value      int64
	}
	granted, taken := map[number]bool{}, map[number]bool{}
	for _, g := range m.blocks.grants {
		if b := g.block; !g.lost && b.Count < 1<<20 {
			for i := range b.Count {
				granted[number{b.Generation, b.Period, b.First + int64(i)*b.Increment}] = true
			}
		}
	}
	slack := (m.skew + m.delay + 100*time.Millisecond).Milliseconds()
	for _, a := range m.records {
		n := a.numbers
		for i := range n.Count {
			k := number{n.Generation, n.Period, n.First + int64(i)*n.Increment}
			if taken[k] {
				return fmt.Sprintf("%+v was issued twice", k)
			}
			taken[k] = true
			if !granted[k] {
				return fmt.Sprintf("%+v was not granted", k)
			}
		}
		if n.Generation < a.generation || n.Generation == a.generation && n.Period < a.period {
			return fmt.Sprintf("%+v was issued when generation %d, period %d was known", n, a.generation, a.period)
		}
		if n.PeriodEnd != 0 && a.wall >= n.PeriodEnd+slack {
			return fmt.Sprintf("%+v was issued at %d", n, a.wall)
		}
	}
	return inOrder(m.records)
}

// inOrder checks that an answer that arrived before another request was made is before that request's answer.
func inOrder(records []answer) string {
	compare := func(a, b allocator.Numbers) int {
		if c := cmp.Or(cmp.Compare(a.Generation, b.Generation), cmp.Compare(a.Period, b.Period)); c != 0 {
			return c
		}
		if a.Increment < 0 {
			return cmp.Compare(b.First, a.First)
		}
		return cmp.Compare(a.First, b.First)
	}
	asked, answered := slices.Clone(records), slices.Clone(records)
	slices.SortFunc(asked, func(a, b answer) int { return cmp.Compare(a.asked, b.asked) })
	slices.SortFunc(answered, func(a, b answer) int { return cmp.Compare(a.answered, b.answered) })
	var latest *allocator.Numbers
	k := 0
	for i := range asked {
		for ; answered[k].answered < asked[i].asked; k++ {
			if n := &answered[k].numbers; latest == nil || compare(*n, *latest) > 0 {
				latest = n
			}
		}
		if n := asked[i].numbers; latest != nil && compare(n, *latest) <= 0 {
			return fmt.Sprintf("%+v was issued after %+v", n, *latest)
		}
	}
	return ""
}
