package redis_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/snowraft/snowraft/server/redis"
)

// TryNext serves relaxed sequences, unless the test has set before.
func (f *fake) TryNext(_ context.Context, name string, count uint64) (n redis.Numbers, ok bool) {
	if f.before != nil {
		return n, false
	}
	s, err := f.find(name)
	if err != nil || s.strict || s.left.Load() >= 0 {
		return n, false
	}
	s.used.Store(true)
	step := int64(count) * s.increment
	return redis.Numbers{First: s.next.Add(step) - step, Increment: s.increment}, true
}

// changing is a Backend whose sequence changes its mode.
type changing struct {
	fake
	strict atomic.Bool
	tries  atomic.Int64
}

func (c *changing) TryNext(context.Context, string, uint64) (n redis.Numbers, ok bool) {
	c.tries.Add(1)
	return n, false
}

func (c *changing) Next(ctx context.Context, name string, count uint64) (redis.Numbers, error) {
	n, err := c.fake.Next(ctx, name, count)
	n.Strict = c.strict.Load()
	return n, err
}

// A connection does not look in memory for numbers of a key that was strict at its last INCR.
func TestStrictKeysAreNotLookedForInMemory(t *testing.T) {
	t.Parallel()
	b := &changing{}
	b.add("orders", 1, 1, -1, true)
	_, addr := start(t, redis.Config{Backend: b})
	c := dial(t, addr)
	r := c.reader()
	var last int64
	for i, strict := range []bool{true, true, false, false} {
		b.strict.Store(strict)
		c.send("INCR orders\r\n")
		r.line()
		if tries := b.tries.Load(); (tries > last) != (i == 0 || i == 3) {
			t.Errorf("INCR %d: %d looks, then %d", i, last, tries)
		}
		last = b.tries.Load()
	}
}
