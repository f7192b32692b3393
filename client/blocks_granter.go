package client

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/snowraft/snowraft/allocator"
	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// blocksGranter asks members for the blocks of a [Blocks].
type blocksGranter struct {
	rpc.MemberGranter
	greatest atomic.Uint64 // token
}

func newBlocksGranter(members snowraftv1.SequenceServiceClient) *blocksGranter {
	return &blocksGranter{MemberGranter: rpc.MemberGranter{Sequences: members}}
}

// AllocateBlock implements allocator.BlockGranter.
func (g *blocksGranter) AllocateBlock(ctx context.Context, sequence string, count uint64) (allocator.Block, error) {
	b, err := g.MemberGranter.AllocateBlock(ctx, sequence, count)
	if err == nil {
		g.greatest.Store(max(g.greatest.Load(), b.Token)) // blocks are asked for one after another
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
	return allocating(err, time.Now())
}
