//go:build !(linux && amd64)

package skew

import (
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"time"
)

var errPlatform = fmt.Errorf("platform %s on %s: clocks of processes need Linux on amd64: %w",
	runtime.GOOS, runtime.GOARCH, errors.ErrUnsupported)

// Clock is not supported on this platform.
type Clock struct{}

// Start fails on this platform.
func Start(*exec.Cmd, time.Duration) (*Clock, error) { return nil, errPlatform }

// Check fails on this platform.
func Check() error { return errPlatform }

// Set fails on this platform.
func (*Clock) Set(time.Duration) error { return errPlatform }

// Offset returns 0 on this platform.
func (*Clock) Offset() time.Duration { return 0 }

// Close does nothing on this platform.
func (*Clock) Close() error { return nil }

// Family is not supported on this platform.
type Family struct{}

// StartFamily fails on this platform.
func StartFamily(*exec.Cmd, time.Duration) (*Family, error) { return nil, errPlatform }

// Set fails on this platform.
func (*Family) Set(time.Duration) error { return errPlatform }

// Wait returns at once on this platform.
func (*Family) Wait() string { return "" }
