package snowflake

import (
	"math"
	"math/bits"
	"time"
)

// TickAt returns the tick that contains the instant unixMillis, in Unix milliseconds. It rounds down, so an
// instant before the epoch is in a negative tick. A result that exceeds an int64 saturates. The tick may be
// beyond the time field: compare it with [Layout.Ticks].
func (l *Layout) TickAt(unixMillis int64) int64 {
	since := unixMillis - l.epoch
	if l.unit == 1 && (unixMillis^l.epoch)&(unixMillis^since) >= 0 { // no overflow: Hacker's Delight, 2-13
		return since
	}
	return l.divideTick(unixMillis)
}

// divideTick is TickAt for every unit and instant. It computes with the distance from the epoch as a uint64,
// which always holds the difference of two int64.
func (l *Layout) divideTick(unixMillis int64) int64 {
	if unixMillis >= l.epoch {
		since := uint64(unixMillis) - uint64(l.epoch)
		if l.unit == 0 {
			return l.shortTicks(since)
		}
		return int64(min(since/uint64(l.unit), math.MaxInt64))
	}
	if l.unit == 0 {
		return -l.shortTicks(uint64(l.epoch) - uint64(unixMillis))
	}
	// -1-x rounds down: the millisecond before the epoch is in tick -1.
	before := uint64(l.epoch) - uint64(unixMillis) - 1
	return -1 - int64(min(before/uint64(l.unit), math.MaxInt64))
}

// shortTicks returns the number of ticks in that many milliseconds, saturating.
func (l *Layout) shortTicks(millis uint64) int64 {
	over, ticks := bits.Mul64(millis, l.per)
	if over != 0 {
		return math.MaxInt64
	}
	return int64(min(ticks, math.MaxInt64))
}

// MillisAt returns the start of a tick in Unix milliseconds, rounded down. The tick may be negative or beyond the time field.
// The result saturates at the ends of an int64.
func (l *Layout) MillisAt(tick int64) int64 {
	if tick >= 0 {
		return l.after(uint64(tick))
	}
	// -uint64(tick) is the magnitude, even of the smallest int64, which has no positive counterpart.
	over, before := bits.Mul64(-uint64(tick), uint64(l.unit))
	if l.unit == 0 {
		before = (-uint64(tick) + l.per - 1) / l.per
	}
	room := uint64(l.epoch) + 1<<63 // distance to the smallest int64
	if over != 0 || before > room {
		return math.MinInt64
	}
	return int64(uint64(l.epoch) - before)
}

// after returns the Unix milliseconds at which that many ticks have passed since the
// epoch, saturating.
func (l *Layout) after(ticks uint64) int64 {
	over, since := bits.Mul64(ticks, uint64(l.unit))
	if l.unit == 0 {
		since = ticks / l.per
	}
	room := math.MaxInt64 - uint64(l.epoch) // up to the greatest int64; wraps correctly for a negative epoch
	if over != 0 || since > room {
		return math.MaxInt64
	}
	return int64(uint64(l.epoch) + since)
}

// ExhaustsAt returns the instant at which the time field is full, in Unix milliseconds: the first instant
// without a tick. It saturates at the greatest int64.
func (l *Layout) ExhaustsAt() int64 { return l.after(l.Ticks()) }

// TimeOf returns the start of the tick in id's time field, in UTC. It ignores all other bits of id;
// [Layout.Unpack] refuses an ID of another layout.
func (l *Layout) TimeOf(id uint64) time.Time {
	return time.UnixMilli(l.MillisAt(int64(l.at[FieldTime].of(id)))).UTC()
}

func stamp(unixMillis int64) string {
	return time.UnixMilli(unixMillis).UTC().Format("2006-01-02T15:04:05.000Z07:00")
}
