package allocator

import (
	"sync/atomic"
	"time"

	"github.com/snowraft/snowraft/internal/clock"
	"github.com/snowraft/snowraft/snowflake"
)

// closedPosition is the position of a closed lease. No real position reaches it, not even after an advance:
// time and sequence together have at most 62 bits in a layout that issues, and a request is for less than 1<<32
// IDs.
const closedPosition = 1 << 63

// cacheLine is the size of the padding, in bytes, between a field that is written constantly and fields that
// are only read.
const cacheLine = 64

// lease is a lane's hold on one worker, from the grant until it is closed.
//
// A cell is a (tick, sequence) of the worker, packed into one word as
// tick<<sequenceBits | sequence. Invariants:
//
//   - position, the next cell to issue, only grows; once closed, it stays closed;
//   - no cell at or above limit is issued;
//   - limit only grows, and its value always is the end of a grant that this
//     process received for this very lease;
//   - a cell is issued by the one compare-and-swap that moved position past it.
//
// Any goroutine may call take. Only the lane's goroutine calls extend. The lane's goroutine or Issuer.Close
// calls close, holding the lane's mutex.
type lease struct {
	layout *snowflake.Layout
	worker uint64
	token  uint64
	from   int64  // the grant's first tick
	first  uint64 // the first cell to issue, at or above from

	bits  uint8  // width of a cell's sequence
	ticks uint64 // capacity of the time field
	ahead uint64 // most ticks that a cell may be ahead of the clock
	reach uint64 // cells from the start of the clock's tick to the first that is too far ahead
	limit atomic.Uint64

	last uint64 // position when closed; 0 before. Guarded by the lane's mutex.

	_        [cacheLine]byte
	position atomic.Uint64
	_        [cacheLine]byte
}

// newLease returns the lease of a grant. The lease issues no tick before first.
func newLease(layout *snowflake.Layout, g Grant, first int64, maxAhead time.Duration) *lease {
	spec := layout.Spec()
	l := &lease{
		layout: layout,
		worker: g.Worker,
		token:  g.Token,
		from:   g.From,
		bits:   layout.SequenceBits(),
		ticks:  layout.Ticks(),
		ahead:  uint64(maxAhead.Milliseconds() / spec.UnitMillis),
	}
	l.reach = (l.ahead + 1) << l.bits
	l.first = l.cell(max(g.From, first))
	if l.id(l.first) == 0 {
		l.first++ // 0 is never issued, because as a floor it means none
	}
	l.limit.Store(l.cell(g.Until))
	l.position.Store(l.first)
	return l
}

// takeResult is the outcome of [lease.take].
type takeResult uint8

const (
	// taken: cells were issued.
	taken takeResult = iota
	// early: the next cell is too far ahead of the clock.
	early
	// floorEarly: the first cell above the floor is too far ahead of the clock.
	floorEarly
	// ended: the window is used up, or the clock has passed it.
	ended
	// closed: the lease was closed.
	closed
	// exhausted: the layout has no tick left.
	exhausted
	// unreachable: no ID of the layout is above the floor.
	unreachable
)

// take issues the cells in [start, end): at least one and at most n, with the clock at tick. All their IDs are
// greater than after. If take issues none, v is the reason. For early, floorEarly and ended, start then is the
// first cell that it would have issued.
//
// take is the whole cost of an ID except for the reading of the clock. contended means that another processor
// was taking from this lease at the same time.
func (l *lease) take(tick int64, n, after uint64) (start, end uint64, v takeResult, contended bool) {
	position := l.position.Load()
	// Under load there usually is no floor, and the position is within the present tick or
	// a little ahead, with room. The rest of this path is place, reduced to that case.
	fresh := uint64(tick) << (l.bits & 63)
	if end = position + n; after == 0 && position > fresh && end <= fresh+l.reach &&
		end <= l.limit.Load() && uint64(tick) < l.ticks && l.position.CompareAndSwap(position, end) {
		return position, end, taken, false
	}
	for {
		start, end, v = l.place(position, tick, n, after)
		if v != taken || l.position.CompareAndSwap(position, end) {
			return start, end, v, contended
		}
		contended = true
		position = l.position.Load()
	}
}

// place returns the cells that a take from position would issue. It issues none.
func (l *lease) place(position uint64, tick int64, n, after uint64) (start, end uint64, v takeResult) {
	if position == closedPosition {
		return 0, 0, closed
	}
	if uint64(tick) >= l.ticks {
		if tick < 0 {
			return position, 0, early // the clock is before the epoch
		}
		return 0, 0, exhausted
	}
	bits := l.bits & 63
	bound := min(uint64(tick)+l.ahead+1, l.ticks) << bits
	start = position
	if fresh := uint64(tick) << bits; position < fresh || position == l.first {
		start = max(position, fresh+l.layout.StartSequence(tick))
	}
	v = early
	if after != 0 && start < bound && l.id(start) <= after {
		floor, ok := l.above(after)
		if !ok {
			return 0, 0, unreachable
		}
		start, v = floor, floorEarly
	}
	if start >= bound {
		if start>>bits >= l.ticks {
			return 0, 0, exhausted
		}
		return start, 0, v
	}
	limit := l.limit.Load()
	if start >= limit {
		return start, 0, ended
	}
	return start, min(start+n, bound, limit), taken
}

// above returns the first cell of this worker whose ID is greater than id,
// which may be any number. IDs grow with their cells, whatever the order of the fields below time.
func (l *lease) above(id uint64) (cell uint64, ok bool) {
	parts, err := l.layout.Unpack(id)
	if err != nil {
		return 0, false // more bits than any ID of this layout
	}
	base := l.layout.Compose(parts.Tick, l.worker, 0)
	if base > id {
		return l.cell(parts.Tick), true
	}
	sequence := (id-base)/l.layout.Step() + 1
	cell = l.cell(parts.Tick) + min(sequence, l.layout.Sequences())
	return cell, cell>>l.bits < l.ticks
}

// close closes the lease: no cell is issued afterwards. Requires the lane's mutex.
func (l *lease) close() {
	if p := l.position.Swap(closedPosition); p != closedPosition {
		l.last = p
	}
}

// next returns the first tick in which a closed lease issued nothing. Requires the lane's mutex.
func (l *lease) next() int64 {
	if l.last == l.first {
		return l.from
	}
	return l.tick(l.last-1) + 1
}

// issued reports whether a closed lease issued any cell. Requires the lane's
// mutex.
func (l *lease) issued() bool { return l.last != l.first }

// extend moves the end of the window. Only the lane's goroutine calls it.
func (l *lease) extend(until int64) { l.limit.Store(l.cell(until)) }

// until returns the tick at which the window ends.
func (l *lease) until() int64 { return l.tick(l.limit.Load()) }

// endsAt returns the time at which the window ends.
func (l *lease) endsAt() time.Time { return time.UnixMilli(l.layout.MillisAt(l.until())) }

// lastAt returns the time of the tick of the last cell issued; zero if none was, and once the lease is closed.
func (l *lease) lastAt() time.Time {
	next := l.position.Load()
	if next <= l.first || next == closedPosition {
		return time.Time{}
	}
	return time.UnixMilli(l.layout.MillisAt(l.tick(next - 1)))
}

// lead returns the time by which the start of a cell's tick is ahead of a clock.
func (l *lease) lead(cell uint64, wall int64) time.Duration {
	return clock.Between(wall, l.layout.MillisAt(l.tick(cell)))
}

// due returns the time until a cell is no longer too far ahead of a clock.
func (l *lease) due(cell uint64, wall int64) time.Duration {
	return clock.Between(wall, l.layout.MillisAt(l.tick(cell)-int64(l.ahead)))
}

// isBehind reports whether a cell is so far ahead of a clock that the clock must have moved backwards. A full
// tick is only a reason to wait for the next tick, however long ticks are.
func (l *lease) isBehind(cell uint64, wall int64, threshold time.Duration) bool {
	return l.tick(cell)-l.layout.TickAt(wall) > int64(l.ahead)+1 && l.lead(cell, wall) > threshold
}

func (l *lease) cell(tick int64) uint64 { return uint64(tick) << (l.bits & 63) }
func (l *lease) tick(cell uint64) int64 { return int64(cell >> (l.bits & 63)) }

// id returns the ID of a cell.
func (l *lease) id(cell uint64) uint64 {
	bits := l.bits & 63
	return l.layout.Compose(int64(cell>>bits), l.worker, cell&(1<<bits-1))
}

// ranges appends the IDs of the cells [start, end), a range for each tick.
func (l *lease) ranges(dst []Range, start, end uint64) []Range {
	for start < end {
		stop := min(end, l.cell(l.tick(start)+1))
		dst = append(dst, Range{First: l.id(start), Count: uint32(stop - start), Step: l.layout.Step()})
		start = stop
	}
	return dst
}
