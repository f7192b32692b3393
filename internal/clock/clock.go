// Package clock reads this process's clock and judges whether it can be trusted.
//
// Nothing here keeps IDs unique: granted windows do that, regardless of clocks. A clock only
// chooses among cells that were granted already, so an incorrect clock costs availability or time
// order. This package decides when a process must be unavailable instead. The main type is [Watch].
package clock

import (
	"math"
	"time"
)

// Reading is the clock at one moment.
type Reading struct {
	// Wall is the wall clock in Unix milliseconds. It can jump, both ways.
	Wall int64
	// Mono is the monotonic clock in milliseconds since some fixed moment of
	// this process. It never jumps.
	Mono int64
}

// Source reads the clock. It is called for every request, from many goroutines, so it must be fast
// and must not block.
type Source func() Reading

// System returns the source that reads the machine's clock.
func System() Source {
	start := time.Now()
	return func() Reading {
		now := time.Now()
		return Reading{Wall: now.UnixMilli(), Mono: int64(now.Sub(start) / time.Millisecond)}
	}
}

// Between returns the time from one instant to another, both in Unix milliseconds; negative if the
// other instant is the earlier one. The result saturates at about 292 years, so instants from other
// processes may have any value.
func Between(from, to int64) time.Duration {
	const most = math.MaxInt64 / int64(time.Millisecond)
	d := to - from
	switch {
	case to >= from && (d < 0 || d > most):
		d = most
	case to < from && (d >= 0 || d < -most):
		d = -most
	}
	return time.Duration(d) * time.Millisecond
}
