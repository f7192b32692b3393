package fsm

import "math"

// The arithmetic of sequences: exact over all of int64, in wrapping uint64 where
// distances and counts do not fit an int64.

// numberAt returns base + index*increment. The result is exact if it fits an int64.
// The caller must know that it fits, see [capacity].
func numberAt(base int64, index uint64, increment int64) int64 {
	return int64(uint64(base) + index*uint64(increment))
}

// step returns the magnitude of an increment, 1 to 2^63.
func step(increment int64) uint64 {
	if increment < 0 {
		return -uint64(increment)
	}
	return uint64(increment)
}

// capacity returns how many of the numbers from, from + increment, ... come before
// the first one outside [low, high]: 0 if from is outside, at most 2^64-1, which is
// one too few for all 2^64 numbers.
func capacity(from, increment, low, high int64) uint64 {
	if from < low || from > high {
		return 0
	}
	distance := uint64(high) - uint64(from)
	if increment < 0 {
		distance = uint64(from) - uint64(low)
	}
	if steps := distance / step(increment); steps < math.MaxUint64 {
		return steps + 1
	}
	return math.MaxUint64
}

// after returns the number that follows n; ok is false if that is beyond int64.
func after(n, increment int64) (following int64, ok bool) {
	following = int64(uint64(n) + uint64(increment))
	return following, (following > n) == (increment > 0)
}

// hull is the least interval [low, high] around numbers, or one that is larger:
// it may claim too much, never too little. The zero hull has none.
type hull struct {
	low, high int64
	some      bool
}

// add returns the hull extended to n.
func (h hull) add(n int64) hull {
	if !h.some {
		return hull{n, n, true}
	}
	return hull{min(h.low, n), max(h.high, n), true}
}

// holds reports whether n is in the hull.
func (h hull) holds(n int64) bool { return h.some && h.low <= n && n <= h.high }

// behind reports whether the whole hull comes before n in the increment's direction;
// true if the hull is empty.
func (h hull) behind(n, increment int64) bool {
	return !h.some || increment > 0 && h.high < n || increment < 0 && h.low > n
}

// meets reports whether numbers of [low, high] from one on, in the increment's
// direction, may lie in the hull. It does not check which numbers are stepped over.
func (h hull) meets(from, increment, low, high int64) bool {
	if !h.some || from < low || from > high {
		return false
	}
	if increment > 0 {
		return from <= h.high && h.low <= high
	}
	return from >= h.low && h.high >= low
}

// cut returns the hull without n and the numbers that follow n in the increment's
// direction. Some of the hull must come before n.
func (h hull) cut(n, increment int64) hull {
	if increment > 0 {
		h.high = n - 1
	} else {
		h.low = n + 1
	}
	return h
}

// trace returns a hull of one number, which records that something was granted. The
// number comes before n in the increment's direction, or is n if n is the first int64.
func trace(n, increment int64) hull {
	switch {
	case increment > 0 && n > math.MinInt64:
		n--
	case increment < 0 && n < math.MaxInt64:
		n++
	}
	return hull{n, n, true}
}
