package allocator

import (
	"context"
	"time"
)

// BlockGranter grants blocks of a sequence's numbers: in a member it
// proposes to Raft or forwards to the leader, in an embedded client it is a gRPC call.
//
// As with a [Granter], a call that fails may still have been carried out: a
// lost reply is a lost block.
type BlockGranter interface {
	// AllocateBlock grants the next numbers of a sequence. The block may have fewer
	// than were requested, at the end of the numbers or if that was too much, and more when it
	// answers others too. Only who has the key can return it.
	AllocateBlock(ctx context.Context, sequence string, count uint64, key ReturnKey) (Block, error)
	// ReturnBlock returns the unused numbers at the end of a block, if no other
	// was granted since and the key is that of its AllocateBlock; otherwise [ErrNotLastBlock].
	ReturnBlock(ctx context.Context, sequence string, token, unused uint64, key ReturnKey) error
}

// ReturnKey is the secret by which a process returns its blocks. It is drawn at random when the process starts, and
// leaves it in these two calls only.
type ReturnKey [16]byte

// Block is the numbers that one grant holds.
type Block struct {
	Numbers
	Token uint64 // fencing token, greater than 0; it only ever grows

	// How long a block should last, and how many numbers to request at least and at most.
	Duration           time.Duration
	MinCount, MaxCount uint64
}

// Numbers are First, First + Increment, and so on, Count of them, of a sequence.
type Numbers struct {
	First      int64
	Count      uint64 // greater than 0
	Increment  int64
	Generation uint64 // of the sequence; a later one makes a block stale

	// Period is the first day of the period that the numbers belong to, as the decimal
	// number yyyymmdd, and PeriodEnd when it ends; both 0 for a sequence without a reset.
	Period    int32
	PeriodEnd int64 // Unix milliseconds
}

// Number returns the number at an index below Count.
func (n Numbers) Number(index uint64) int64 {
	return int64(uint64(n.First) + index*uint64(n.Increment)) // may wrap around in between, never in the end
}
