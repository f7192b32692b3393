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

// Blocks issues the numbers of one relaxed sequence from blocks in this process's memory, like a member: Next
// is one compare-and-swap. It holds two blocks. It requests the second one in the background, early enough and large
// enough for the rate at which numbers are used. Its methods are safe for concurrent use.
//
// Numbers are unique in the cluster and ascend in this process (they descend if the increment is negative). Other
// processes have blocks of their own. Numbers left at a crash stay unused. Blocks issues the numbers in memory even
// while no member can be reached.
//
// Members do not notify a process of a change of its sequence. So Blocks requests the state of the sequence every few
// seconds while it is in use ([WithBlocksRefresh]), and on the first use after a pause. For this interval, and as long
// as no member can be reached, it may issue numbers from before a change. These are unique, unless the change was
// forced.
//
// A sequence with a reset begins its next period by this process's clock. If the clock is late, numbers issued at the
// beginning of a period belong to the previous period, for as long as the clock is late.
//
// With a strict sequence, calls fail with ErrStrictSequence; use a [Sequence].
type Blocks struct {
	numbers *allocator.Sequence
	watch   *blocksWatch
	timeout time.Duration // limit of waiting callers without a deadline
}

// BlocksOption configures a [Blocks].
type BlocksOption func(*blocksOptions)

type blocksOptions struct {
	refresh time.Duration
	first   int
}

// WithBlocksRefresh sets the interval at which Blocks checks the sequence for changes, at least 100 ms; the default is 3 s.
func WithBlocksRefresh(d time.Duration) BlocksOption { return func(o *blocksOptions) { o.refresh = d } }

// WithBlocksFirstSize sets the number of numbers in the first block, 1 to 1,000,000; the default is 100. The size of
// later blocks follows the rate of use, in the bounds of the sequence.
func WithBlocksFirstSize(n int) BlocksOption { return func(o *blocksOptions) { o.first = n } }

// NewBlocks returns the Blocks of a sequence. It requests nothing before the first use, so it fails only if an
// option is invalid. Close the Blocks when done, so that the cluster can grant the rest to other holders.
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
	w.onDeleted = func() { b.numbers.DropBefore(granter.greatest.Load() + 1) }
	return b, nil
}

// Next returns the next number. If no block has a number, it waits until ctx is done or, if ctx has no deadline, for at
// most the client's timeout. Its errors are an [*Error], such as ErrUnknownSequence and ErrStrictSequence; ErrClosed;
// and the error of ctx.
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

// Close stops the goroutines and returns the rest of the last block to the cluster, if no other block was granted
// since. Waiting calls and later calls fail with ErrClosed. The error reports the number of numbers that were not
// returned to the cluster: these stay unused. Call Close before closing the [Client].
func (b *Blocks) Close(ctx context.Context) error {
	b.watch.end()
	if err := b.numbers.Close(ctx); err != nil {
		return blocksError(err)
	}
	return nil
}

// blocksGranter requests the blocks of a [Blocks] from members.
type blocksGranter struct {
	rpc.MemberGranter
	greatest atomic.Uint64 // greatest token of a granted block
}

// AllocateBlock implements allocator.BlockGranter.
func (g *blocksGranter) AllocateBlock(ctx context.Context, sequence string, count uint64, key allocator.ReturnKey) (allocator.Block, error) {
	b, err := g.MemberGranter.AllocateBlock(ctx, sequence, count, key)
	if err == nil {
		g.greatest.Store(max(g.greatest.Load(), b.Token)) // not atomic: blocks are requested one after another
	}
	return b, err
}

// blocksError converts an allocator's error to an error of this package.
func blocksError(err error) error {
	if errors.Is(err, allocator.ErrClosed) || errors.Is(err, ErrClosed) {
		return ErrClosed
	}
	return allocating(err, time.UnixMilli(clock.System()().Wall))
}

// BlocksStats holds the block size and the counters of a [Blocks] since its creation, for metrics.
type BlocksStats struct {
	BlockSize uint64 // numbers in the current block, including used ones; 0 if there is no block

	Taken   uint64 // numbers that Next and Take returned
	Skipped uint64 // numbers of granted blocks that were neither issued nor returned to the cluster
	Waited  uint64 // calls that waited for a block
	Blocks  uint64 // granted blocks
}

// Stats returns the current block size and the counters.
func (b *Blocks) Stats() BlocksStats {
	s := b.numbers.Stats()
	return BlocksStats{BlockSize: s.BlockSize, Taken: s.Taken, Skipped: s.Skipped, Waited: s.Waited, Blocks: s.Blocks}
}
