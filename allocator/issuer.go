package allocator

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/snowraft/snowraft/internal/broadcast"
	"github.com/snowraft/snowraft/internal/clock"
	"github.com/snowraft/snowraft/snowflake"
)

// Issuer issues IDs of one layout from the windows of its lanes. Its methods may
// be called from any goroutine.
type Issuer struct {
	layout     *snowflake.Layout
	nonce      Nonce
	granter    Granter
	watch      *clock.Watch
	maxAhead   time.Duration
	idle       time.Duration
	windowWait func(ctx context.Context, had bool) time.Duration
	observe    func(int64)
	wait       Wait
	events     Events
	lanes      []*lane
	picker     *picker
	changed    broadcast.Signal // sent when a lease, its window or a lane's problem changes

	asking   atomic.Pointer[context.Context] // context values of a waiting call, for the next call to the Granter
	closing  atomic.Bool
	stopping chan struct{}   // closed by the first Close
	calls    context.Context // context of all calls to the Granter
	cancel   context.CancelFunc
	running  sync.WaitGroup

	mu       sync.Mutex
	failures []error // errors of the releases
}

// Open starts an issuer: one goroutine for each lane, which acquires a worker. Open returns at once; calls wait
// until the first window is granted. The error is an [ErrInvalidArgument], and also wraps the error of the
// layout if the layout cannot issue. The caller must close the issuer.
func Open(cfg Config) (*Issuer, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	i := &Issuer{
		layout:     cfg.Layout,
		nonce:      cfg.Nonce,
		granter:    cfg.Granter,
		watch:      cfg.Watch,
		maxAhead:   cfg.MaxAhead,
		idle:       cfg.Idle,
		windowWait: cfg.WindowWait,
		observe:    cfg.Observe,
		wait:       cfg.Wait,
		events:     cfg.Events,
		picker:     newPicker(cfg.Lanes),
		stopping:   make(chan struct{}),
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
// It waits for the clock to reach the next tick, even if the clock is a little behind, and for a window as long
// as [Config.WindowWait] says. Its errors are [*clock.BehindError], [*clock.SkewError], [*WindowEndedError],
// [*WorkersExhaustedError], [*FencedError], [ErrTimeExhausted], [ErrOldClusterAlive], [ErrSetBack],
// [ErrContradicted], [ErrClosed] and, when ctx ends, [*InterruptedError]. The error is [ErrInvalidArgument] if no
// ID of the layout is greater than after, or if after is too far in the future to have been issued.
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

// Take appends count IDs to dst, in ranges of one tick and one worker each. All of them are greater than after.
// Ranges of one lane ascend; ranges of different lanes are in no order.
//
// It waits and fails as [Issuer.Next] does. With an error it returns dst with the ranges that were taken
// before. No other caller gets those IDs, so the caller may use or drop them.
func (i *Issuer) Take(ctx context.Context, dst []Range, count uint32, after uint64) ([]Range, error) {
	if count == 0 {
		return dst, fmt.Errorf("%w: count 0: expected at least 1 ID", ErrInvalidArgument)
	}
	if ctx.Err() != nil {
		return dst, interrupted(ctx, "starting")
	}
	dst, left := i.TryTake(dst, count, after)
	for left > 0 {
		held, start, end, err := i.await(ctx, uint64(left), after)
		if err != nil {
			return dst, err
		}
		dst, left = i.TryTake(held.ranges(dst, start, end), left-uint32(end-start), after)
	}
	return dst, nil
}

// TryTake appends IDs as [Issuer.Take] does, up to count, and does not wait. left is the number of missing IDs; Take returns them
// or the error.
func (i *Issuer) TryTake(dst []Range, count uint32, after uint64) (_ []Range, left uint32) {
	for left = count; left > 0; {
		now := i.watch.Now()
		if i.watch.Check(now) != nil {
			break
		}
		held, start, end := i.try(now, uint64(left), after)
		if held == nil {
			break
		}
		dst = held.ranges(dst, start, end)
		left -= uint32(end - start)
	}
	return dst, left
}

// try takes cells from the first lane that has some, beginning with the lane that served last on this
// processor. It returns no lease if no lane has any.
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

// Close stops issuing, then releases the workers with the last tick that was used, so that the next holder can
// begin right after it. Close waits until ctx is done for a call to the Granter that is in progress, because
// the window of that call would be discarded otherwise; then it cancels all calls. Afterwards no goroutine is
// left, and no call begins. The error names the workers that were not released: they become free when their
// windows have passed. Further calls of Close wait for the first call and return the same error.
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
		i.changed.Send()
	}
	i.running.Wait()
	i.cancel()
	i.mu.Lock()
	defer i.mu.Unlock()
	return errors.Join(i.failures...)
}

// failed records an error for Close to return.
func (i *Issuer) failed(err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.failures = append(i.failures, err)
}
