//go:build !linux

package history

import "time"

var begin = time.Now()

// Now is a monotonic clock in nanoseconds, of this process: runs need Linux.
func Now() int64 { return int64(time.Since(begin)) }

// Wall is this process's wall clock in Unix nanoseconds.
func Wall() int64 { return time.Now().UnixNano() }
