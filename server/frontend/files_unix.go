//go:build unix

package frontend

import (
	"math"
	"syscall"
)

// openFiles returns the number of files that the process may open.
func openFiles() uint64 {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return math.MaxUint64
	}
	return uint64(limit.Cur) //nolint:unconvert // FreeBSD: signed, and never negative
}
