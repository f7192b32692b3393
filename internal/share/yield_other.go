//go:build !linux

package share

import "runtime"

// yield lets the other goroutines of this process run.
func yield() { runtime.Gosched() }
