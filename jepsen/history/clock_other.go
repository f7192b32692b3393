//go:build !linux

package history

import "time"

var begin = time.Now()

// Now returns a monotonic clock of this process in nanoseconds. Runs need Linux, where the clock is the machine's.
func Now() int64 { return int64(time.Since(begin)) }

// Wall returns this process's wall clock in Unix nanoseconds.
func Wall() int64 { return time.Now().UnixNano() }
