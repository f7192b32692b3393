package allocator

import (
	"math"
	"math/bits"
	"sync/atomic"
)

const (
	// maxStock is the most numbers that a block can have: far more than any block
	// that is meant, so that no sum of two counts overflows.
	maxStock = 1 << 62
	// closedStock is the position of a closed block. No real position reaches it.
	closedStock = math.MaxUint64
)

// stock is the numbers of a block that are still to be issued when it is made:
// of one grant, or of several that continue one another.
//
// Position, how many were issued, only grows; once closed it stays so. Any
// goroutine may take. The holder of the Sequence's lock closes.
type stock struct {
	Block          // never changes; Token is that of the last grant in it
	granted uint64 // numbers at its end that are of the last grant

	mark     atomic.Uint64 // the position from which on takers are to look at the pace
	position atomic.Uint64
	_        [24]byte // two cache lines, which it shares with nothing else
}

// newStock returns the stock of a grant.
func newStock(b Block) *stock { return &stock{Block: b, granted: b.Count} }

// take issues count numbers, from the index that it returns.
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

// close ends the block and returns how many numbers were issued: none is afterwards.
func (b *stock) close() (taken uint64) { return min(b.position.Swap(closedStock), b.Count) }

// taken returns how many numbers were issued; all of a closed block.
func (b *stock) taken() uint64 { return min(b.position.Load(), b.Count) }

// numbers returns what a take issued.
func (b *stock) numbers(index, count uint64) Numbers {
	n := b.Numbers
	n.First, n.Count = b.Number(index), count
	return n
}

// epoch returns which numbering the block belongs to.
func (b *stock) epoch() epoch { return epoch{b.Generation, b.Period} }

// continues reports whether the block goes on where another one ends, so that
// the two are as one.
func (b *stock) continues(other *stock) bool {
	if b.epoch() != other.epoch() || b.Increment != other.Increment || b.PeriodEnd != other.PeriodEnd ||
		b.Count > maxStock-other.Count {
		return false
	}
	last := other.Number(other.Count - 1)
	return (b.First > last) == (b.Increment > 0) && b.First-last == b.Increment
}

// joined returns the numbers from an index of a closed or unseen block on, and
// those of the block that continues it, as one.
func (b *stock) joined(index uint64, with *stock) *stock {
	if index == b.Count {
		return with
	}
	j := newStock(with.Block)
	j.First, j.Count, j.granted = b.Number(index), b.Count-index+with.Count, with.granted
	return j
}

// plausible reports whether a block can be believed by itself: it has numbers, and
// all of them fit into an int64.
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

// epoch is a numbering: within one, no number is granted twice, and later blocks
// have later numbers.
type epoch struct {
	generation uint64
	period     int32
}

// before reports whether an epoch is outdated once another one is known.
func (e epoch) before(other epoch) bool {
	return e.generation < other.generation || e.generation == other.generation && e.period < other.period
}
