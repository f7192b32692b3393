package allocator

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/snowraft/snowraft/internal/clock"
	"github.com/snowraft/snowraft/snowflake"
)

// Issuer issues IDs of one layout from the windows of its lanes. Its methods may
// be called from any goroutine.
type Issuer struct {
	layout   *snowflake.Layout
	nonce    Nonce
	granter  Granter
	watch    *clock.Watch
	maxAhead time.Duration
	idle     time.Duration
	patience func(ctx context.Context, had bool) time.Duration
	observe  func(int64)
	wait     Wait
	events   Events
	lanes    []*lane
	picker   *picker
	changed  *signal // fires when a lease, its window or a lane's problem changes

	asking   atomic.Pointer[context.Context] // values of a call that waits, for the next call to the Granter
	closing  atomic.Bool
	stopping chan struct{}   // closed by the first Close
	calls    context.Context // of all calls to the Granter
	cancel   context.CancelFunc
	running  sync.WaitGroup

	mu       sync.Mutex
	failures []error // of the releases
}

// Open starts an issuer: a goroutine for each lane, which acquires a worker. It
// returns at once; until the first window is granted, calls wait for it. The
// error is an [ErrInvalidArgument], and wraps that of the layout if it cannot
// issue. Close it when done.
func Open(cfg Config) (*Issuer, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	i := &Issuer{
		layout:   cfg.Layout,
		nonce:    cfg.Nonce,
		granter:  cfg.Granter,
		watch:    cfg.Watch,
		maxAhead: cfg.MaxAhead,
		idle:     cfg.Idle,
		patience: cfg.Patience,
		observe:  cfg.Observe,
		wait:     cfg.Wait,
		events:   cfg.Events,
		picker:   newPicker(cfg.Lanes),
		changed:  newSignal(),
		stopping: make(chan struct{}),
	}
	i.calls, i.cancel = context.WithCancel(context.Background())
	for index := range cfg.Lanes {
		i.lanes = append(i.lanes, &lane{
			issuer: i,
			holder: cfg.Holder + "/" + strconv.Itoa(index),
			log:    cfg.Logger.With("layout", cfg.Layout.Name(), "lane", index),
			kicks:  make(chan struct{}, 1),
		})
	}
	for _, l := range i.lanes {
		i.running.Go(l.run)
	}
	return i, nil
}

// Next returns one ID, greater than after; 0 means no floor.
//
// It waits for the clock to reach the next tick, also when that is a little behind,
// and for a window as long as [Config.Patience] says. Its errors are
// [*clock.BehindError], [*clock.SkewError], [*WindowEndedError],
// [*WorkersExhaustedError], [ErrTimeExhausted], [ErrClosed], that of ctx, and
// [ErrInvalidArgument] if no ID of the layout is greater than after, or if after is
// too far in the future to have been issued.
func (i *Issuer) Next(ctx context.Context, after uint64) (uint64, error) {
	if ctx.Err() != nil {
		return 0, interrupted(ctx, "starting")
	}
	now := i.watch.Now()
	if i.watch.Check(now) == nil {
		if held, start, _ := i.try(now, 1, after); held != nil {
			return held.id(start), nil
		}
	}
	held, start, _, err := i.await(ctx, 1, after)
	if err != nil {
		return 0, err
	}
	return held.id(start), nil
}

// Take appends count IDs to dst, as one range for each tick and worker. All of
// them are greater than after. Ranges of one lane ascend; with several lanes
// those of different lanes are in no order.
//
// It waits and fails as [Issuer.Next] does. With an error it returns dst with
// the ranges that were taken before; no other caller gets those IDs, so the caller
// may use them or not.
func (i *Issuer) Take(ctx context.Context, dst []Range, count uint32, after uint64) ([]Range, error) {
	if count == 0 {
		return dst, fmt.Errorf("%w: count 0: expected at least 1 ID", ErrInvalidArgument)
	}
	if ctx.Err() != nil {
		return dst, interrupted(ctx, "starting")
	}
	for left := uint64(count); left > 0; {
		var held *lease
		var start, end uint64
		now := i.watch.Now()
		if i.watch.Check(now) == nil {
			held, start, end = i.try(now, left, after)
		}
		if held == nil {
			var err error
			if held, start, end, err = i.await(ctx, left, after); err != nil {
				return dst, err
			}
		}
		dst = held.ranges(dst, start, end)
		left -= end - start
	}
	return dst, nil
}

// try takes from the first lane that gives something, beginning with the one
// that did last. It returns no lease if none does.
func (i *Issuer) try(now clock.Reading, n, after uint64) (held *lease, start, end uint64) {
	tick := i.layout.TickAt(now.Wall)
	k := 0
	if len(i.lanes) > 1 {
		k = i.picker.get()
	}
	for range i.lanes {
		if held = i.lanes[k].lease.Load(); held != nil {
			start, end, v, contended := held.take(tick, n, after)
			if v == taken {
				if len(i.lanes) > 1 {
					i.picker.put(k, contended)
				}
				return held, start, end
			}
		}
		if k++; k == len(i.lanes) {
			k = 0
		}
	}
	return nil, 0, 0
}

// Close ends issuing, then releases the workers, with the last tick that was
// used, so that the next holder can begin right after it. A call to the Granter
// that is in progress is waited for until ctx is done, because its window would be
// discarded otherwise; then all calls are cancelled. No goroutine is left
// afterwards, and no call begins. The error says which workers were not
// released: they become free when their windows have passed. Further calls of
// Close wait for the first and return the same.
func (i *Issuer) Close(ctx context.Context) error {
	defer context.AfterFunc(ctx, i.cancel)()
	if !i.closing.Swap(true) {
		if ctx.Err() != nil {
			i.cancel()
		}
		for _, l := range i.lanes {
			l.stop()
		}
		close(i.stopping)
		i.changed.fire()
	}
	i.running.Wait()
	i.cancel()
	i.mu.Lock()
	defer i.mu.Unlock()
	return errors.Join(i.failures...)
}

// failed notes what Close is to report.
func (i *Issuer) failed(err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.failures = append(i.failures, err)
}
