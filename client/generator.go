package client

import (
	"context"
	"crypto/rand"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/snowraft/snowraft/allocator"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// Generator issues IDs in this process, from memory: the cluster leases it a worker and
// windows of time, which it extends in the background, long before they end. It goes on
// without the cluster until its window has ended: seconds after its start, and the cluster's longest
// window (10 minutes unless configured otherwise) after a while.
//
// IDs are unique whatever clocks do. While this machine's clock cannot be trusted, because it is
// ahead of the members' or moved backwards, nothing is issued; that ends when the clock is correct again.
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
	news    bell  // rings when issuer, problem or closed has changed
	problem error // why there is no issuer yet; nil if that is not known either
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
	g := &Generator{client: c, opts: o, judge: newJudge(snowraftv1.NewClusterServiceClient(c.leader), o.clock)}
	g.news.init()
	if _, err := rand.Read(g.nonce[:]); err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	g.stop = stop
	g.running.Go(func() { g.open(ctx) })
	g.running.Go(func() { g.judge.run(ctx) })
	return g, nil
}

// Next returns one ID.
//
// It waits for the clock to reach the next tick when all IDs of the present one are used. When there is
// no window, because none was granted yet or the last one ended without quorum, it
// waits as long as ctx allows, without a deadline for the client's timeout; or fails at once, see
// [WithGeneratorNoWait]. When more is known, such as when a worker comes free, and that is after the deadline, it
// does not wait.
//
// Its errors are an [*Error], such as ErrWindowEnded, ErrClockBehind, ErrClockSkew, ErrWorkersExhausted,
// ErrTimeExhausted and ErrUnknownLayout, ErrClosed, and that of ctx.
func (g *Generator) Next(ctx context.Context) (int64, error) {
	return g.NextAfter(ctx, 0)
}

// NextAfter returns one ID that is greater than after, which may be of another process; 0 is no
// floor. It waits when the clock here is a little behind that ID's, and fails with ErrClockBehind if it is
// behind by more than the cluster's wait threshold. It fails with ErrInvalidArgument if that ID is so far in
// the future that no process can have issued it.
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

// scratch has space for the answers of issuers, which callers get copies of.
var scratch = sync.Pool{New: func() any { return new([]allocator.Range) }}

// Append appends n IDs, 1 to 1,000,000, to dst and returns it. Those of one lane ascend. It waits and fails
// as Next does; with an error it returns dst as it was.
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

// Ranges returns n IDs, 1 to 1,000,000, as one range for each tick and worker. Those of one lane
// ascend. It waits and fails as Next does.
func (g *Generator) Ranges(ctx context.Context, n int) ([]Range, error) {
	return g.AppendRanges(ctx, nil, n)
}

// AppendRanges appends n IDs to dst, as Ranges returns them. With an error it returns dst as it was.
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

// take takes n IDs. The caller puts them back into scratch.
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

// Close ends issuing and releases the workers, so that others can have them at once. Its error says
// which were not returned, because no member could be reached or ctx ended: they become free when their windows
// have passed. No goroutine of the generator is left afterwards.
func (g *Generator) Close(ctx context.Context) error {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.news.toll()
	g.stop()
	g.running.Wait()
	if i := g.issuer.Load(); i != nil {
		return i.Close(ctx)
	}
	return nil
}
