package client

import (
	"context"
	"crypto/rand"
	"slices"
	"sync"
	"sync/atomic"

	"time"

	"github.com/snowraft/snowraft/allocator"
	"github.com/snowraft/snowraft/internal/broadcast"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// Generator issues IDs in this process, from memory. The cluster leases it workers and grants it windows of time,
// which the generator extends in the background, long before they end. It keeps issuing without the cluster until its
// window ends. Windows last seconds at the start and grow to the cluster's longest window (10 minutes by default).
//
// IDs are unique even if clocks are wrong. While this machine's clock cannot be trusted, because it is
// ahead of the members' clocks or moved backwards, the generator issues nothing. It resumes once the clock is correct.
//
// Its methods are safe for concurrent use. With one lane, IDs strictly increase in the order in which calls return.
type Generator struct {
	client *Client
	opts   generatorOptions
	nonce  allocator.Nonce
	judge  *clockCheck

	issuer atomic.Pointer[allocator.Issuer] // nil until the lanes are open

	mu      sync.Mutex
	news    broadcast.Signal // sent when issuer, problem or closed has changed
	problem error            // error of the last attempt to open the lanes; nil if there was none
	closed  bool

	cancel  context.CancelFunc
	running sync.WaitGroup
}

// NewGenerator returns a generator that leases workers from the cluster of c. Close the generator before c.
//
// NewGenerator returns at once and fails only if an option is invalid. It requests a window in the background; calls
// wait for the first window.
func NewGenerator(c *Client, opts ...GeneratorOption) (*Generator, error) {
	o, err := newGeneratorOptions(opts)
	if err != nil {
		return nil, err
	}
	g := &Generator{client: c, opts: o, judge: newClockCheck(snowraftv1.NewClusterServiceClient(c.leader), o.clock)}
	if _, err := rand.Read(g.nonce[:]); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	g.cancel = cancel
	g.running.Go(func() { g.open(ctx) })
	g.running.Go(func() { g.judge.run(ctx) })
	return g, nil
}

// Next returns one ID.
//
// When all IDs of the current tick are used, Next waits for the next tick. When there is no window, because none was
// granted yet or the last one ended without quorum, Next waits until ctx is done or, if ctx has no deadline, for at
// most the client's timeout. With [WithGeneratorNoWait], it fails at once when the last window has ended. Next does not
// wait if the earliest time of the next window is known, such as when a worker becomes free, and is after the deadline.
//
// Its errors are an [*Error], such as ErrWindowEnded, ErrClockBehind, ErrClockSkew, ErrWorkersExhausted,
// ErrTimeExhausted, ErrPermissionDenied and ErrUnknownLayout; ErrClosed; and the error of ctx. Next does not wait if the
// cluster refuses the client's token.
func (g *Generator) Next(ctx context.Context) (int64, error) {
	return g.NextAfter(ctx, 0)
}

// NextAfter returns one ID that is greater than after, an ID that any process may have issued; 0 means no floor. If
// this machine's clock is behind the time of after, NextAfter waits; if it is behind by more than the cluster's wait
// threshold, NextAfter fails with ErrClockBehind. If after is so far in the future that no process can have issued
// it, NextAfter fails with ErrInvalidArgument.
func (g *Generator) NextAfter(ctx context.Context, after int64) (int64, error) {
	if after < 0 {
		return 0, negative(after)
	}
	i, err := g.await(ctx)
	if err != nil {
		return 0, err
	}
	id, err := i.Next(ctx, uint64(after))
	if err != nil {
		return 0, g.failure(err)
	}
	return int64(id), nil
}

// scratch holds space for the answers of issuers. Callers get copies.
var scratch = sync.Pool{New: func() any { return new([]allocator.Range) }}

// Append appends n IDs, 1 to 1,000,000, to dst and returns the extended slice. IDs of one lane ascend. It waits and
// fails as Next does. On an error, it returns dst unchanged.
func (g *Generator) Append(ctx context.Context, dst []int64, n int) ([]int64, error) {
	taken, err := g.take(ctx, n)
	if err != nil {
		return dst, err
	}
	defer scratch.Put(taken)
	dst = slices.Grow(dst, n)
	for _, r := range *taken {
		for id := range r.All() {
			dst = append(dst, int64(id))
		}
	}
	return dst, nil
}

// Ranges returns n IDs, 1 to 1,000,000, with one range per tick and worker. Ranges of one lane ascend. It waits and
// fails as Next does.
func (g *Generator) Ranges(ctx context.Context, n int) ([]Range, error) {
	return g.AppendRanges(ctx, nil, n)
}

// AppendRanges appends n IDs to dst, as Ranges returns them, and returns the extended slice. On an error, it returns
// dst unchanged.
func (g *Generator) AppendRanges(ctx context.Context, dst []Range, n int) ([]Range, error) {
	taken, err := g.take(ctx, n)
	if err != nil {
		return dst, err
	}
	defer scratch.Put(taken)
	for _, r := range *taken {
		dst = append(dst, Range{First: int64(r.First), Count: int(r.Count), Step: int64(r.Step)})
	}
	return dst, nil
}

// take takes n IDs. The caller must put the result back into scratch.
func (g *Generator) take(ctx context.Context, n int) (*[]allocator.Range, error) {
	if err := checkCount(n, "IDs"); err != nil {
		return nil, err
	}
	i, err := g.await(ctx)
	if err != nil {
		return nil, err
	}
	taken := scratch.Get().(*[]allocator.Range)
	if *taken, err = i.Take(ctx, (*taken)[:0], uint32(n), 0); err != nil {
		scratch.Put(taken)
		return nil, g.failure(err)
	}
	return taken, nil
}

// Close stops issuing and releases the workers, so that other holders can acquire them at once. Its error names the
// workers that were not released because no member could be reached or ctx ended. These become free after their windows
// have passed. Close stops all goroutines of the generator.
func (g *Generator) Close(ctx context.Context) error {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.news.Send()
	g.cancel()
	g.running.Wait()
	if i := g.issuer.Load(); i != nil {
		return i.Close(ctx)
	}
	return nil
}

// LaneStatus is the state of a lane of a [Generator].
type LaneStatus struct {
	Lane                int    // index, from 0
	Worker              uint64 // meaningful if Token is not 0
	Token               uint64 // fencing token of the worker; 0 if the lane holds no worker
	FromTick, UntilTick int64  // the window: UntilTick is the first tick after it
	ServeUntil          time.Time
	Problem             string // reason why the lane cannot issue or its window is not extended; empty if neither
}

// Lanes returns the state of each lane; nil until the cluster has returned the layout.
func (g *Generator) Lanes() []LaneStatus {
	i := g.issuer.Load()
	if i == nil {
		return nil
	}
	lanes := i.Lanes()
	all := make([]LaneStatus, len(lanes))
	for k, l := range lanes {
		all[k] = LaneStatus{
			Lane: l.Lane, Worker: l.Worker, Token: l.Token, FromTick: l.From, UntilTick: l.Until,
			ServeUntil: l.ServeUntil, Problem: l.Problem,
		}
	}
	return all
}
