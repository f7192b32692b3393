package allocator

import (
	"context"
	"time"
)

// BlockGranter grants blocks of a sequence's numbers. The BlockGranter of a member proposes to Raft or forwards
// to the leader; the BlockGranter of an embedded client makes a gRPC call.
//
// A failed call may still have been carried out, as with a [Granter]: the block of a lost reply is lost.
type BlockGranter interface {
	// AllocateBlock grants the next numbers of a sequence. The block has fewer numbers than requested if fewer are
	// left in the period, or if count was too large. It has more if it answers other requests too. Only a process
	// that has the key can return the block.
	AllocateBlock(ctx context.Context, sequence string, count uint64, key ReturnKey) (Block, error)
	// ReturnBlock returns the unused numbers at the end of a block, if no other block was granted since and the
	// key is the key of the block's AllocateBlock call. Otherwise the error is [ErrNotLastBlock].
	ReturnBlock(ctx context.Context, sequence string, token, unused uint64, key ReturnKey) error
}

// ReturnKey is the secret with which a process returns its blocks. It is drawn at random when the process
// starts, and leaves the process only in the calls of a [BlockGranter].
type ReturnKey [16]byte

// Block holds the numbers of one grant.
type Block struct {
	Numbers
	Token uint64 // fencing token, greater than 0 and than the tokens of earlier blocks

	// Duration is the time that a block should last. MinCount and MaxCount bound the count of numbers to
	// request.
	Duration           time.Duration
	MinCount, MaxCount uint64
}

// Numbers holds Count numbers of a sequence: First, First + Increment, and so on.
type Numbers struct {
	First      int64
	Count      uint64 // greater than 0
	Increment  int64
	Generation uint64 // generation of the sequence; a later generation makes a block stale

	// Period is the first day of the period that the numbers belong to, as the decimal number yyyymmdd.
	// PeriodEnd is the end of that period. Both are 0 for a sequence without a reset.
	Period    int32
	PeriodEnd int64 // Unix milliseconds
}

// Number returns the number at an index below Count.
func (n Numbers) Number(index uint64) int64 {
	return int64(uint64(n.First) + index*uint64(n.Increment)) // intermediate results may wrap around, the sum does not
}
