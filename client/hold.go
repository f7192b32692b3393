package client

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/snowraft/snowraft/allocator"
	"github.com/snowraft/snowraft/internal/clock"
	"github.com/snowraft/snowraft/internal/limits"
	"github.com/snowraft/snowraft/internal/lines"
	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/snowflake"
)

// HeldWorker is the lease of one worker, for a program that makes its IDs itself with a library of its own. The cluster
// extends the window of the worker in the background. While the program uses only times that Allows accepts, no
// other holder makes the same IDs.
//
// Its methods are safe for concurrent use.
type HeldWorker struct {
	granter allocator.Granter
	judge   *clockCheck
	layout  *snowflake.Layout
	opts    holdOptions
	nonce   allocator.Nonce
	worker  uint64
	token   uint64
	from    int64

	cancel  context.CancelFunc
	running sync.WaitGroup
	lost    chan struct{} // closed by keep, the only goroutine that extends

	mu      sync.Mutex
	until   int64
	next    int64 // the first tick above all that Allows accepted
	ended   bool  // Close or Abandon was called
	problem error // reason why the last extension failed; nil after a success
}

// HoldWorker leases a worker from the cluster of c. It waits for a worker until ctx is done, unless the cluster refuses
// the layout or the token. Close the worker before c.
func HoldWorker(ctx context.Context, c *Client, opts ...WorkerOption) (*HeldWorker, error) {
	o, err := newHoldOptions(opts)
	if err != nil {
		return nil, err
	}
	h := &HeldWorker{
		granter: rpc.MemberGranter{Workers: snowraftv1.NewWorkerServiceClient(c.leader)},
		judge:   newClockCheck(snowraftv1.NewClusterServiceClient(c.leader), o.clock),
		opts:    o, lost: make(chan struct{}),
	}
	_, _ = rand.Read(h.nonce[:]) // never fails
	var failing lines.Repeat
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		err := h.begin(ctx, c)
		switch {
		case err == nil:
			if failing != (lines.Repeat{}) {
				o.logger.Info("worker acquired", "layout", o.layout, "worker", h.worker)
			}
			return h, nil
		case errors.Is(err, ErrUnknownLayout), errors.Is(err, ErrInvalidArgument), errors.Is(err, ErrClosed),
			errors.Is(err, snowflake.ErrInvalidLayout), denied(err):
			return nil, err
		}
		if failing.Allow() {
			o.logger.Warn("worker not acquired; retrying", "layout", o.layout, "error", err)
		}
		if !wait(ctx, pause, nil) {
			last, _ := errors.AsType[*Error](err)
			return nil, interrupted(ctx.Err(), last)
		}
	}
}

// begin acquires a worker once, and starts to keep it.
func (h *HeldWorker) begin(ctx context.Context, c *Client) error {
	resp, err := c.catalog.GetLayout(ctx, &snowraftv1.GetLayoutRequest{Name: h.opts.layout})
	if err != nil {
		return err
	}
	if h.layout, err = snowflake.New(rpc.Spec(resp.GetLayout())); err != nil {
		return err
	}
	h.judge.queryMember(ctx)
	h.judge.watch.Update()
	if err := h.acquire(ctx); err != nil {
		return err
	}
	ctx, h.cancel = context.WithCancel(context.Background())
	h.running.Go(func() { h.extendUntilLost(ctx) })
	h.running.Go(func() { h.judge.run(ctx) })
	return nil
}

func (h *HeldWorker) acquire(ctx context.Context) error {
	now := h.judge.watch.Now()
	if err := h.judge.watch.Check(now); err != nil {
		return allocating(err, time.UnixMilli(now.Wall))
	}
	g, err := h.granter.AcquireWorker(ctx, allocator.AcquireRequest{
		Layout: h.layout.Name(), Holder: *h.opts.holder, Nonce: h.nonce, NowMillis: now.Wall, Window: limits.MaxWindow,
		Below: h.opts.below, Process: h.opts.process,
	})
	if err != nil {
		return allocating(err, time.UnixMilli(now.Wall))
	}
	if g.Worker >= h.layout.Workers() || g.Token == 0 || g.From < 0 || g.From >= g.Until || uint64(g.Until) > h.layout.Ticks() {
		return fmt.Errorf("client: grant of worker %d ignored, because it is impossible: token %d, ticks [%d, %d)", g.Worker, g.Token, g.From, g.Until)
	}
	h.worker, h.token, h.from, h.next, h.until = g.Worker, g.Token, g.From, g.From, g.Until
	return nil
}

// Layout returns the layout of the worker.
func (h *HeldWorker) Layout() *snowflake.Layout { return h.layout }

// Worker returns the number of the worker.
func (h *HeldWorker) Worker() uint64 { return h.worker }

// Token returns the fencing token of the worker. A later holder has a greater one.
func (h *HeldWorker) Token() uint64 { return h.token }

// Window returns the first instant of the window, and the instant after its last one.
func (h *HeldWorker) Window() (from, until time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return time.UnixMilli(h.layout.MillisAt(h.from)), time.UnixMilli(h.layout.MillisAt(h.until))
}

// Problem returns the reason why the last extension of the window failed, or is late; nil after a success.
func (h *HeldWorker) Problem() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.problem
}

// MaxClockOffset returns the greatest offset that the cluster tolerates between a clock and the majority's.
func (h *HeldWorker) MaxClockOffset() time.Duration { return h.judge.watch.Limits().MaxOffset }

// Allows reports whether this process may use an ID of this worker with the time t inside. Call it after the ID is made
// and before the ID is used. After Close and Abandon, it allows nothing.
func (h *HeldWorker) Allows(t time.Time) bool {
	tick := h.layout.TickAt(t.UnixMilli())
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended || tick < h.from || tick >= h.until {
		return false
	}
	h.next = max(h.next, tick+1)
	return true
}

// Lost returns a channel that is closed when the worker is lost: its window ended, or the cluster refused to extend it. It is
// advice to stop. Only Allows decides about an ID: a granted window stays good until its end.
func (h *HeldWorker) Lost() <-chan struct{} { return h.lost }

// Close releases the worker, so that another holder can make IDs on it with later times than all that Allows accepted. If
// its call fails, the worker becomes free when its window has passed.
func (h *HeldWorker) Close(ctx context.Context) error {
	if !h.end() {
		return nil
	}
	err := h.granter.ReleaseWorker(ctx, allocator.ReleaseRequest{
		Layout: h.layout.Name(), Worker: h.worker, Token: h.token, Nonce: h.nonce, Until: h.until, Next: h.next,
	})
	if errors.Is(err, allocator.ErrWindowMismatch) {
		return nil // the cluster no longer holds it for this process
	}
	return err
}

// Abandon stops the extensions and releases nothing, because IDs with unknown times may have been made. The worker becomes
// free when its window has passed.
func (h *HeldWorker) Abandon() { h.end() }

// end stops all goroutines. It returns false if there is nothing to release.
func (h *HeldWorker) end() bool {
	h.mu.Lock()
	first := !h.ended
	h.ended = true
	h.mu.Unlock()
	h.cancel()
	h.running.Wait()
	select {
	case <-h.lost:
		return false
	default:
		return first
	}
}

// extendUntilLost extends the window until ctx ends or the worker is lost.
func (h *HeldWorker) extendUntilLost(ctx context.Context) {
	failures, extension := 0, uint64(0)
	var failing lines.Repeat
	for {
		left := h.remaining()
		if left <= 0 {
			h.markLost(cmp.Or(h.Problem(), errShortWindow))
			return
		}
		pause := left / 2
		if failures > 0 {
			pause = min(firstPause<<min(failures, 10), max(time.Second, left/16), left)
		}
		if !wait(ctx, pause, nil) {
			return
		}
		if extension == 0 {
			extension = allocator.DrawExtension()
		}
		late := make(chan struct{})
		unanswered := time.AfterFunc(left/8, func() {
			defer close(late)
			h.setProblem(errUnanswered)
		})
		err := h.extend(ctx, extension)
		if !unanswered.Stop() {
			<-late
		}
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, allocator.ErrWindowMismatch):
			h.markLost(err)
			return
		case errors.Is(err, allocator.ErrSetBack): // another process may hold the same window
			h.mu.Lock()
			h.until = h.from
			h.mu.Unlock()
			h.markLost(err)
			return
		case err != nil:
			failures++
			if failing.Allow() {
				h.opts.logger.Warn("window not extended; retrying", "worker", h.worker, "error", err)
			}
		default:
			if failures > 0 {
				h.opts.logger.Info("window extended", "worker", h.worker)
			}
			failures, extension, failing = 0, 0, lines.Repeat{}
		}
		h.setProblem(err)
	}
}

var (
	errShortWindow = errors.New("client: the window of the worker ended")
	errUnanswered  = errors.New("client: no answer yet to a request for a longer window")
)

// setProblem keeps the reason why the window is not extended; nil if it is.
func (h *HeldWorker) setProblem(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.problem = err
}

// remaining returns the time until the window ends.
func (h *HeldWorker) remaining() time.Duration {
	_, until := h.Window()
	return clock.Between(h.judge.watch.Now().Wall, until.UnixMilli())
}

// extend tries to move the end of the window. All tries of one extension have the same ID.
func (h *HeldWorker) extend(ctx context.Context, id uint64) error {
	const extendTimeout = 5 * time.Second
	ctx, cancel := context.WithTimeout(ctx, extendTimeout)
	defer cancel()
	g, err := h.granter.ExtendWindow(ctx, allocator.ExtendRequest{
		Layout: h.layout.Name(), Worker: h.worker, Token: h.token, Nonce: h.nonce, Until: h.until, ID: id,
		NowMillis: h.judge.watch.Now().Wall, Window: limits.MaxWindow,
	})
	if err != nil {
		return err
	}
	if g.Worker != h.worker || g.Token != h.token || g.Until < h.until || uint64(g.Until) > h.layout.Ticks() {
		return fmt.Errorf("client: extension of worker %d ignored, because it is impossible: token %d, ticks [%d, %d)", g.Worker, g.Token, g.From, g.Until)
	}
	h.judge.observe(g.ObservedMillis)
	h.mu.Lock()
	h.until = g.Until
	h.mu.Unlock()
	return nil
}

// markLost reports that the window will not be extended.
func (h *HeldWorker) markLost(err error) {
	h.setProblem(err)
	h.opts.logger.Warn("worker lost", "worker", h.worker, "error", err)
	close(h.lost)
}
