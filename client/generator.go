package client

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/snowraft/snowraft/allocator"
	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/snowflake"
)

// Generator issues IDs in this process, from memory: the cluster leases it a worker and
// windows of time, which it extends in the background, long before they end. It goes on
// without the cluster until its window has ended: seconds after its start, and the cluster's longest
// window (10 minutes unless configured otherwise) after a while.
//
// IDs are unique whatever clocks do. While this machine's clock cannot be trusted, because it is
// ahead of the members' or went back, nothing is issued; that ends by itself when the clock is right again.
//
// Its methods may be called from any goroutine. With one lane, IDs strictly increase in the order in
// which calls return.
type Generator struct {
	client *Client
	opts   generatorOptions
	nonce  allocator.Nonce
	judge  *judge

	issuer atomic.Pointer[allocator.Issuer] // nil until the layout is known

	mu      sync.Mutex
	news    chan struct{} // closed and replaced when issuer, problem or closed changes
	problem error         // why there is no issuer yet; nil if that is not known either
	closed  bool

	stop    context.CancelFunc
	running sync.WaitGroup
}

// NewGenerator returns a generator that leases workers from the cluster of c. Close it before c.
//
// It returns at once and fails only if an option is wrong: the cluster is asked in the background, and
// until there is a window, calls wait for it.
func NewGenerator(c *Client, opts ...GeneratorOption) (*Generator, error) {
	o, err := newGeneratorOptions(opts)
	if err != nil {
		return nil, err
	}
	g := &Generator{client: c, opts: o, judge: newJudge(snowraftv1.NewClusterServiceClient(c.leader), o.clock), news: make(chan struct{})}
	if _, err := rand.Read(g.nonce[:]); err != nil {
		return nil, err
	}
	c.members.start()
	ctx, stop := context.WithCancel(context.Background())
	g.stop = stop
	g.running.Go(func() { g.open(ctx) })
	g.running.Go(func() { g.judge.run(ctx) })
	return g, nil
}

// Next returns one ID.
//
// It waits for the clock to reach the next tick when all IDs of the present one are used. When there is
// no window, because none was granted yet or the last one ended without a majority of the members, it
// waits as long as ctx allows, without a deadline for the client's timeout; or fails at once, see
// [WithoutWaiting]. When more is known, such as when a worker comes free, and that is after the deadline, it
// does not wait.
//
// Its errors are an [*Error], such as ErrWindowEnded, ErrClockBehind, ErrClockSkew, ErrWorkersExhausted,
// ErrTimeExhausted and ErrUnknownLayout, ErrClosed, and that of ctx.
func (g *Generator) Next(ctx context.Context) (uint64, error) {
	if i := g.issuer.Load(); i != nil {
		id, err := i.Next(ctx, 0)
		if err == nil {
			return id, nil
		}
		return 0, g.failure(err)
	}
	return g.NextAfter(ctx, 0)
}

// NextAfter returns one ID that is greater than after, which may be of another process; 0 is no
// floor. It waits when the clock here is a little behind that ID's, and fails with ErrClockBehind if it is
// behind by more than the cluster's wait threshold.
func (g *Generator) NextAfter(ctx context.Context, after uint64) (uint64, error) {
	i, err := g.await(ctx)
	if err != nil {
		return 0, err
	}
	id, err := i.Next(ctx, after)
	if err != nil {
		return 0, g.failure(err)
	}
	return id, nil
}

// Ranges returns n IDs, 1 to 1,000,000, as one range for each tick and worker. Those of one lane
// ascend. It waits and fails as Next does.
func (g *Generator) Ranges(ctx context.Context, n int) ([]Range, error) {
	return g.AppendRanges(ctx, nil, n)
}

// AppendRanges appends n IDs to dst, as Ranges returns them. With an error it returns dst as it was.
func (g *Generator) AppendRanges(ctx context.Context, dst []Range, n int) ([]Range, error) {
	if n < 1 || n > maxCount {
		return dst, errCount(n)
	}
	i, err := g.await(ctx)
	if err != nil {
		return dst, err
	}
	with, err := i.Take(ctx, dst, uint32(n), 0)
	if err != nil {
		return dst, g.failure(err)
	}
	return with, nil
}

// Ready returns nil when an ID could be issued right now, or in a tick's time, and otherwise why
// not. It takes none.
func (g *Generator) Ready() error {
	i := g.issuer.Load()
	if i == nil {
		g.mu.Lock()
		defer g.mu.Unlock()
		return g.missing()
	}
	if err := i.Ready(); err != nil {
		return g.failure(err)
	}
	return nil
}

// LaneStatus is what a lane of a [Generator] holds.
type LaneStatus = allocator.LaneStatus

// Lanes returns the state of each lane; none until the cluster has told the layout.
func (g *Generator) Lanes() []LaneStatus {
	if i := g.issuer.Load(); i != nil {
		return i.Lanes()
	}
	return nil
}

// Close ends issuing and gives the workers back, so that others can have them at once. Its error says
// which were not given back, because no member could be reached or ctx ended: they become free when their windows
// have passed. No goroutine of the generator is left afterwards.
func (g *Generator) Close(ctx context.Context) error {
	g.mu.Lock()
	g.closed = true
	g.tell()
	g.mu.Unlock()
	g.stop()
	g.running.Wait()
	if i := g.issuer.Load(); i != nil {
		return i.Close(ctx)
	}
	return nil
}

// open finds the layout, however long that takes, and opens the lanes.
func (g *Generator) open(ctx context.Context) {
	const patience = 5 * time.Second
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		bounded, cancel := context.WithTimeout(ctx, patience)
		layout, err := g.layout(bounded)
		cancel()
		var i *allocator.Issuer
		if err == nil {
			i, err = g.lanes(layout)
		}
		if ctx.Err() != nil && i == nil {
			return
		}
		g.mu.Lock()
		g.problem = err
		g.issuer.Store(i)
		g.tell()
		g.mu.Unlock()
		if err == nil || !wait(ctx, pause, nil) {
			return
		}
		g.opts.logger.Warn("the generator can't begin yet, trying again", "layout", g.opts.layout, "err", err)
	}
}

func (g *Generator) layout(ctx context.Context) (*snowflake.Layout, error) {
	resp, err := snowraftv1.NewLayoutServiceClient(g.client.leader).GetLayout(ctx, &snowraftv1.GetLayoutRequest{Name: g.opts.layout})
	if err != nil {
		return nil, err
	}
	return snowflake.New(rpc.Spec(resp.GetLayout()))
}

func (g *Generator) lanes(layout *snowflake.Layout) (*allocator.Issuer, error) {
	return allocator.Open(allocator.Config{
		Layout: layout, Holder: g.opts.holder, Nonce: g.nonce, Lanes: g.opts.lanes, MaxAhead: g.opts.maxAhead,
		Granter:  rpc.Granter{Workers: snowraftv1.NewWorkerServiceClient(g.client.leader)},
		Watch:    g.judge.watch,
		Patience: g.patience,
		Observe:  g.judge.observe,
		Logger:   g.opts.logger,
	})
}

// tell wakes those who wait in await. The lock is held.
func (g *Generator) tell() {
	close(g.news)
	g.news = make(chan struct{})
}

// await returns the issuer, once there is one.
func (g *Generator) await(ctx context.Context) (*allocator.Issuer, error) {
	if i := g.issuer.Load(); i != nil {
		return i, nil
	}
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, g.client.opts.timeout)
		defer cancel()
	}
	for {
		g.mu.Lock()
		i, news, missing := g.issuer.Load(), g.news, g.missing()
		g.mu.Unlock()
		if i != nil {
			return i, nil
		}
		if !errors.Is(missing, ErrWindowEnded) {
			return nil, missing
		}
		select {
		case <-news:
		case <-ctx.Done():
			if e, ok := errors.AsType[*Error](missing); ok {
				late := *e
				late.cause = ctx.Err()
				return nil, &late
			}
			return nil, ctx.Err()
		}
	}
}

// missing says why there is no issuer: ErrWindowEnded if there may be one soon. The lock is held.
func (g *Generator) missing() error {
	e := &Error{Reason: rpc.WindowEnded, RetryAfter: rpc.RetrySoon, code: codes.Unavailable, message: "no window was granted yet"}
	switch p := g.problem; {
	case g.closed, errors.Is(p, ErrClosed):
		return ErrClosed
	case p == nil:
	case errors.Is(p, ErrUnknownLayout):
		return p
	case errors.Is(p, allocator.ErrInvalidArgument), errors.Is(p, snowflake.ErrInvalidLayout):
		return g.failure(p)
	default:
		e.message += ", and the cluster does not tell the layout: " + p.Error()
	}
	return e
}

// failure is what callers get to see of an error of the lanes, or of one that kept them from being opened.
func (g *Generator) failure(err error) error {
	if errors.Is(err, allocator.ErrClosed) {
		return ErrClosed
	}
	var cause error
	if interrupted, ok := errors.AsType[*allocator.InterruptedError](err); ok {
		if interrupted.Missing == nil {
			return interrupted.Err
		}
		err, cause = interrupted.Missing, interrupted.Err
	}
	e := rpc.Classify(err, time.UnixMilli(g.judge.watch.Now().Wall))
	if e == nil {
		e = rpc.FromError(err)
	}
	return &Error{Reason: e.Reason, RetryAfter: e.RetryAfter, message: rpc.Message(err), code: e.Code, cause: cause}
}

func errCount(n int) error {
	return &Error{Reason: rpc.InvalidArgument, code: codes.InvalidArgument, message: fmt.Sprintf("%d IDs were asked for, expected 1 to %d", n, maxCount)}
}

// patience is how long a call waits for a window; had: there was one before.
func (g *Generator) patience(ctx context.Context, had bool) time.Duration {
	switch deadline, ok := ctx.Deadline(); {
	case g.opts.failFast && had:
		return 0
	case ok:
		return time.Until(deadline)
	default:
		return g.client.opts.timeout
	}
}
