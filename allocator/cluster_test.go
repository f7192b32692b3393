package allocator_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/snowraft/snowraft/allocator"
	"github.com/snowraft/snowraft/snowflake"
)

// cluster is a Granter with the rules of the state machine, and the auditor: it keeps every granted window.
type cluster struct {
	layout    *snowflake.Layout
	maxWindow time.Duration
	threshold time.Duration

	mu      sync.Mutex
	token   uint64
	workers map[uint64]*worker
	windows []window
	log     []call

	hang  atomic.Bool  // calls wait until their context ends
	delay atomic.Int64 // ns that each call takes

	// Hooks of the test. Each is called with mu held, if not nil.
	before func(call) error // after an error, the call is not carried out
	after  func(call) error // after an error, the reply of the executed call is lost
	forge  func(*allocator.Grant)
}

type worker struct {
	holder    string
	nonce     allocator.Nonce
	token     uint64
	from      int64
	highWater int64
	extension uint64 // ID of the last extension under the token
	moved     int64  // end that the last extension moved
}

// window is the range that one grant added.
type window struct {
	worker, token uint64
	from, until   int64
	nonce         allocator.Nonce
}

type call struct {
	kind     string // acquire, extend or release
	holder   string
	now      int64
	window   time.Duration
	worker   uint64
	until    int64
	id       uint64
	next     int64
	mono     time.Time
	deadline bool
}

func newCluster(layout *snowflake.Layout) *cluster {
	return &cluster{layout: layout, maxWindow: 10 * time.Minute, threshold: time.Second, workers: map[uint64]*worker{}}
}

func (c *cluster) run(ctx context.Context, k call, apply func() error) error {
	k.mono = time.Now()
	_, k.deadline = ctx.Deadline()
	c.set(func() { c.log = append(c.log, k) })
	if c.hang.Load() {
		<-ctx.Done()
		return ctx.Err()
	}
	if d := c.delay.Load(); d > 0 {
		time.Sleep(time.Duration(d)) // simulated time
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.before != nil {
		if err := c.before(k); err != nil {
			return err
		}
	}
	if err := apply(); err != nil {
		return err
	}
	if c.after != nil {
		return c.after(k)
	}
	return nil
}

func (c *cluster) AcquireWorker(ctx context.Context, r allocator.AcquireRequest) (g allocator.Grant, err error) {
	err = c.run(ctx, call{kind: "acquire", holder: r.Holder, now: r.NowMillis, window: r.Window}, func() error {
		now := c.layout.TickAt(r.NowMillis)
		free := func(by int64) (id uint64, found bool) {
			for id := range c.layout.Workers() {
				w := c.workers[id]
				if w == nil || w.highWater <= by {
					return id, true
				}
			}
			return 0, false
		}
		var id uint64
		found := false
		for k, w := range c.workers { // the worker that the holder had last
			if w.holder == r.Holder && w.highWater <= now {
				id, found = k, true
			}
		}
		if !found {
			id, found = free(now)
		}
		if !found {
			id, found = free(c.layout.TickAt(r.NowMillis + c.threshold.Milliseconds()))
		}
		if !found {
			soonest := int64(1<<62 - 1)
			for _, w := range c.workers {
				soonest = min(soonest, w.highWater)
			}
			return &allocator.WorkersExhaustedError{Layout: r.Layout, RetryAt: time.UnixMilli(c.layout.MillisAt(soonest))}
		}
		w := c.workers[id]
		if w == nil {
			w = new(worker)
			c.workers[id] = w
		}
		c.token++
		from := max(w.highWater, now)
		until := c.until(max(r.NowMillis, c.layout.MillisAt(from)), r.Window)
		until = min(until, c.until(r.NowMillis, c.maxWindow))
		if from >= until {
			return fmt.Errorf("refused: %w", allocator.ErrTimeExhausted)
		}
		*w = worker{holder: r.Holder, nonce: r.Nonce, token: c.token, from: from, highWater: until}
		g = c.grant(id, w, from)
		return nil
	})
	return g, err
}

func (c *cluster) ExtendWindow(ctx context.Context, r allocator.ExtendRequest) (g allocator.Grant, err error) {
	err = c.run(ctx, call{kind: "extend", worker: r.Worker, until: r.Until, id: r.ID, now: r.NowMillis, window: r.Window}, func() error {
		w := c.workers[r.Worker]
		if w == nil || w.token != r.Token || w.nonce != r.Nonce || r.ID == 0 {
			return fmt.Errorf("refused: %w", allocator.ErrWindowMismatch)
		}
		if w.extension == r.ID && w.moved == r.Until {
			g = c.grant(r.Worker, w, r.Until)
			return nil
		}
		if w.highWater != r.Until {
			return fmt.Errorf("refused: %w", allocator.ErrWindowMismatch)
		}
		w.extension, w.moved = r.ID, r.Until
		w.highWater = max(w.highWater, c.until(r.NowMillis, r.Window))
		g = c.grant(r.Worker, w, r.Until)
		return nil
	})
	return g, err
}

func (c *cluster) ReleaseWorker(ctx context.Context, r allocator.ReleaseRequest) error {
	return c.run(ctx, call{kind: "release", worker: r.Worker, until: r.Until, next: r.Next}, func() error {
		w := c.workers[r.Worker]
		if w == nil || w.token != r.Token || w.nonce != r.Nonce || w.highWater != r.Until {
			return fmt.Errorf("refused: %w", allocator.ErrWindowMismatch)
		}
		w.highWater = r.Next
		return nil
	})
}

// until returns the end of a window that covers a duration from a moment on.
func (c *cluster) until(start int64, window time.Duration) int64 {
	return min(c.layout.TickAt(start+min(window, c.maxWindow).Milliseconds()-1)+1, int64(c.layout.Ticks()))
}

// grant records the range that was added, from a tick on, and returns the whole window.
func (c *cluster) grant(id uint64, w *worker, added int64) allocator.Grant {
	c.windows = append(c.windows, window{id, w.token, added, w.highWater, w.nonce})
	g := allocator.Grant{Worker: id, Token: w.token, From: w.from, Until: w.highWater, MaxWindow: c.maxWindow}
	if c.forge != nil {
		c.forge(&g)
	}
	return g
}

// covers reports whether a tick of a worker was ever granted to a process start.
func (c *cluster) covers(id uint64, tick int64, nonce allocator.Nonce) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, w := range c.windows {
		if w.worker == id && w.from <= tick && tick < w.until && w.nonce == nonce {
			return true
		}
	}
	return false
}

// calls returns the calls of these kinds so far, or all calls.
func (c *cluster) calls(kinds ...string) []call {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []call
	for _, k := range c.log {
		if len(kinds) == 0 || slices.Contains(kinds, k.kind) {
			out = append(out, k)
		}
	}
	return out
}

// set changes the behavior of the cluster.
func (c *cluster) set(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
}
