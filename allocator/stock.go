package allocator

import (
	"math"
	"math/bits"
	"sync/atomic"
)

const (
	// maxStock is the most numbers that a block can have: far more than any real block has, and so few that no
	// sum of two counts overflows.
	maxStock = 1 << 62
	// closedStock is the position of a closed block. No real position reaches it.
	closedStock = math.MaxUint64
)

// stock holds the numbers of a block that were not issued when the stock was made. They are from one grant, or
// from several contiguous grants.
//
// position, the count of issued numbers, only grows; once closed, it stays closed. Any goroutine may call take.
// Only the holder of the Sequence's lock calls close.
type stock struct {
	Block          // never changes; Token is that of the last grant in it
	granted uint64 // numbers at its end that belong to the last grant

	mark     atomic.Uint64 // position from which callers check the pace
	position atomic.Uint64
	_        [24]byte // fills two cache lines, shared with nothing else
}

// newStock returns the stock of a grant.
func newStock(b Block) *stock { return &stock{Block: b, granted: b.Count} }

// take issues count numbers, from the index that it returns on.
func (b *stock) take(count uint64) (index uint64, ok bool) {
	for {
		index = b.position.Load()
		if index > b.Count || count-1 >= b.Count-index { // closed; too few, or a count of 0
			return 0, false
		}
		if b.position.CompareAndSwap(index, index+count) {
			return index, true
		}
	}
}

// close closes the block, so that no number is issued afterwards, and returns how many were issued.
func (b *stock) close() (taken uint64) { return min(b.position.Swap(closedStock), b.Count) }

// taken returns the number of issued numbers; all of them for a closed block.
func (b *stock) taken() uint64 { return min(b.position.Load(), b.Count) }

// numbers returns the numbers that a take issued.
func (b *stock) numbers(index, count uint64) Numbers {
	n := b.Numbers
	n.First, n.Count = b.Number(index), count
	return n
}

// epoch returns the numbering that the block belongs to.
func (b *stock) epoch() epoch { return epoch{b.Generation, b.Period} }

// continues reports whether the block begins right after the end of another one, so that they can be joined.
func (b *stock) continues(other *stock) bool {
	if b.epoch() != other.epoch() || b.Increment != other.Increment || b.PeriodEnd != other.PeriodEnd ||
		b.Count > maxStock-other.Count {
		return false
	}
	last := other.Number(other.Count - 1)
	return (b.First > last) == (b.Increment > 0) && b.First-last == b.Increment
}

// joined returns one stock of the numbers of a closed or unseen block from an index on,
// and of the block that continues it.
func (b *stock) joined(index uint64, with *stock) *stock {
	if index == b.Count {
		return with
	}
	j := newStock(with.Block)
	j.First, j.Count, j.granted = b.Number(index), b.Count-index+with.Count, with.granted
	return j
}

// plausible reports whether a block is valid on its own: it has numbers, and all of them fit into an int64.
func plausible(b Block) bool {
	if b.Count == 0 || b.Count > maxStock || b.Increment == 0 || b.Token == 0 || b.Period < 0 || b.PeriodEnd < 0 {
		return false
	}
	step, room := uint64(b.Increment), uint64(math.MaxInt64)-uint64(b.First)
	if b.Increment < 0 {
		step, room = -step, uint64(b.First)-1<<63
	}
	over, span := bits.Mul64(b.Count-1, step)
	return over == 0 && span <= room
}

// epoch identifies a numbering: within an epoch, no number is granted twice, and later blocks have later
// numbers.
type epoch struct {
	generation uint64
	period     int32
}

// before reports whether an epoch is outdated once another one is known.
func (e epoch) before(other epoch) bool {
	return e.generation < other.generation || e.generation == other.generation && e.period < other.period
}
