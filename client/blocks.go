package client

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/snowraft/snowraft/allocator"
	"github.com/snowraft/snowraft/internal/clock"
	"github.com/snowraft/snowraft/internal/limits"
	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/sequence"
)

const leastRefresh = 100 * time.Millisecond

// Blocks issues the numbers of one relaxed sequence from blocks in this process's memory, as members do: Next
// is one compare-and-swap. It holds two blocks, and requests the second one in the background, early enough and large
// enough for the rate at which numbers are used. Its methods may be called from any goroutine.
//
// Numbers are unique in the cluster and ascend (with a negative increment descend) in this process; other
// processes have blocks of their own. Numbers left at a crash stay unused. Blocks in memory are also issued
// while no member can be reached.
//
// A process does not learn of a change of its sequence. So Blocks asks every few seconds while it is in use, and before
// it is used again after it was not. For that long ([WithBlocksRefresh]), and as long as no member can be reached, it may
// go on with numbers from before a change: they are unique anyway, unless the change was forced.
//
// A sequence with a reset begins its next period when this process's clock says so. A clock
// that is late numbers the beginning of a period as the end of the one before, by as much as it is late.
//
// A strict sequence is refused with ErrStrictSequence: take a [Sequence].
type Blocks struct {
	numbers *allocator.Sequence
	watch   *blocksWatch
	timeout time.Duration // of callers who bring no deadline and have to wait
}

// BlocksOption changes what [NewBlocks] makes.
type BlocksOption func(*blocksOptions)

type blocksOptions struct {
	refresh time.Duration
	first   int
}

// WithBlocksRefresh asks that often whether the sequence was changed, at least every 100 ms; the default is 3 s.
func WithBlocksRefresh(d time.Duration) BlocksOption { return func(o *blocksOptions) { o.refresh = d } }

// WithBlocksFirstSize requests so many numbers at first, 1 to 1,000,000; the default is 100. Later blocks have as
// many as the rate needs, in the bounds of the sequence.
func WithBlocksFirstSize(n int) BlocksOption { return func(o *blocksOptions) { o.first = n } }

// NewBlocks returns the Blocks of a sequence. It requests nothing until it is used, so it fails only if an
// option is wrong. Close it when done: then the cluster can give the rest to others.
func NewBlocks(c *Client, sequence string, opts ...BlocksOption) (*Blocks, error) {
	return newBlocks(c.sequences, c.opts.timeout, sequence, opts)
}

func newBlocks(members snowraftv1.SequenceServiceClient, timeout time.Duration, name string, opts []BlocksOption) (*Blocks, error) {
	o := blocksOptions{refresh: 3 * time.Second, first: 100}
	for _, set := range opts {
		set(&o)
	}
	switch {
	case o.refresh < leastRefresh:
		return nil, fmt.Errorf("client: refresh interval %v: expected at least %v", o.refresh, leastRefresh)
	case o.first < 1 || o.first > limits.Count:
		return nil, fmt.Errorf("client: first block of %d numbers: expected 1 to %d", o.first, limits.Count)
	}
	granter := &blocksGranter{MemberGranter: rpc.MemberGranter{Sequences: members}}
	w := newBlocksWatch(o.refresh, func(ctx context.Context) (blocksState, error) {
		resp, err := members.GetSequence(ctx, &snowraftv1.GetSequenceRequest{Name: name, Local: true})
		if err != nil {
			return blocksState{}, err
		}
		period, err := sequence.ParsePeriod(resp.GetSequence().GetPeriod())
		return blocksState{resp.GetSequence().GetGeneration(), int32(period)}, err
	})
	var key allocator.ReturnKey
	if _, err := rand.Read(key[:]); err != nil {
		return nil, err
	}
	b := &Blocks{watch: w, timeout: timeout}
	b.numbers = allocator.OpenSequence(allocator.SequenceConfig{
		Name: name, Granter: granter, Key: key, Clock: clock.System(), Revision: &w.revision, Current: w.current, FirstBlock: uint64(o.first),
	})
	w.gone = func() { b.numbers.DropBefore(granter.greatest.Load() + 1) }
	return b, nil
}

// Next returns the next number. It waits, as long as ctx allows or else for the client's timeout, only when no block has
// one. Its errors are an [*Error], such as ErrUnknownSequence and ErrStrictSequence; ErrClosed; and that of ctx.
func (b *Blocks) Next(ctx context.Context) (int64, error) {
	n, err := b.take(ctx, 1)
	return n.First, err
}

// Take returns the next n numbers, 1 to 1,000,000, in one run. It fails as Next does.
func (b *Blocks) Take(ctx context.Context, n int) (Numbers, error) {
	if err := checkCount(n, "numbers"); err != nil {
		return Numbers{}, err
	}
	run, err := b.take(ctx, uint64(n))
	return Numbers{First: run.First, Count: int(run.Count), Increment: run.Increment, Period: sequence.Period(run.Period)}, err
}

func (b *Blocks) take(ctx context.Context, count uint64) (allocator.Numbers, error) {
	if b.watch.inUse() {
		if n, ok := b.numbers.TryNext(count); ok {
			return n, nil
		}
	}
	ctx, cancel := bounded(ctx, b.timeout)
	defer cancel()
	if err := b.watch.begin(ctx); err != nil {
		return allocator.Numbers{}, err
	}
	n, err := b.numbers.Next(ctx, count)
	if err != nil {
		return allocator.Numbers{}, blocksError(err)
	}
	return n, nil
}

// Close ends the goroutines and returns what is left of the last block, if no other block
// was granted since. Calls that wait, and later ones, fail with ErrClosed. The error says
// how many numbers were not returned: they stay unused. The [Client] has to be open still.
func (b *Blocks) Close(ctx context.Context) error {
	b.watch.end()
	if err := b.numbers.Close(ctx); err != nil {
		return blocksError(err)
	}
	return nil
}

// blocksGranter asks members for the blocks of a [Blocks].
type blocksGranter struct {
	rpc.MemberGranter
	greatest atomic.Uint64 // token
}

// AllocateBlock implements allocator.BlockGranter.
func (g *blocksGranter) AllocateBlock(ctx context.Context, sequence string, count uint64, key allocator.ReturnKey) (allocator.Block, error) {
	b, err := g.MemberGranter.AllocateBlock(ctx, sequence, count, key)
	if err == nil {
		g.greatest.Store(max(g.greatest.Load(), b.Token)) // blocks are requested one after another
	}
	return b, err
}

// blocksError makes of an allocator's error one that callers of this package know.
func blocksError(err error) error {
	if errors.Is(err, allocator.ErrClosed) || errors.Is(err, ErrClosed) {
		return ErrClosed
	}
	if known, ok := errors.AsType[*Error](err); ok {
		return known
	}
	return allocating(err, time.UnixMilli(clock.System()().Wall))
}
