package main

import (
	"sync/atomic"
	"time"
)

// stopwatch starts a stopwatch and returns a function that returns the elapsed time. Only this file
// reads the clock.
func stopwatch() (elapsed func() time.Duration) {
	began := time.Now()
	return func() time.Duration { return time.Since(began) }
}

// wall returns the time.
func wall() time.Time { return time.Now() }

// readClock reads the clock n times, like an issuer of IDs.
func readClock(n int) error {
	var sum int64
	for range n {
		sum += time.Now().UnixMilli()
	}
	sink.Store(sum)
	return nil
}

var sink atomic.Int64 // keeps results alive
