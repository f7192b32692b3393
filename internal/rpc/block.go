package rpc

import (
	"context"
	"errors"
	"time"

	"github.com/snowraft/snowraft/allocator"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/sequence"
)

// AllocateBlock implements allocator.BlockGranter.
func (g MemberGranter) AllocateBlock(ctx context.Context, name string, count uint64, key allocator.ReturnKey) (allocator.Block, error) {
	resp, err := g.Sequences.AllocateBlock(ctx, &snowraftv1.AllocateBlockRequest{Sequence: name, Count: count, ReturnKey: key[:]})
	if err != nil {
		return allocator.Block{}, named(err)
	}
	b := resp.GetBlock()
	if b == nil {
		return allocator.Block{}, errors.New("the member answered without a block")
	}
	period, err := sequence.ParsePeriod(b.GetPeriod())
	if err != nil {
		return allocator.Block{}, err
	}
	return allocator.Block{
		Token: b.GetToken(),
		Numbers: allocator.Numbers{First: b.GetFirst(), Count: b.GetCount(), Increment: b.GetIncrement(),
			Generation: b.GetGeneration(), Period: int32(period), PeriodEnd: b.GetPeriodEndsAtMs()},
		Duration: time.Duration(b.GetBlockDurationMs()) * time.Millisecond, MinCount: b.GetMinBlock(), MaxCount: b.GetMaxBlock(),
	}, nil
}

// ReturnBlock implements allocator.BlockGranter.
func (g MemberGranter) ReturnBlock(ctx context.Context, name string, token, unused uint64, key allocator.ReturnKey) error {
	_, err := g.Sequences.ReturnBlock(ctx, &snowraftv1.ReturnBlockRequest{Sequence: name, Token: token, Unused: unused, ReturnKey: key[:]})
	return named(err)
}

// Block returns a block in the form of the API.
func Block(b allocator.Block) *snowraftv1.Block {
	return &snowraftv1.Block{
		Token: b.Token, First: b.First, Count: b.Count, Increment: b.Increment, Generation: b.Generation,
		Period: sequence.Period(b.Period).String(), PeriodEndsAtMs: b.PeriodEnd,
		BlockDurationMs: b.Duration.Milliseconds(), MinBlock: b.MinCount, MaxBlock: b.MaxCount,
	}
}
