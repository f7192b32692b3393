//go:build linux

package network

import (
	"context"
	"fmt"
	"sync"
)

// Harness is the name of the host in which this process is, and the clients.
const Harness = "harness"

// HarnessIP is the address of this process among the hosts.
const HarnessIP = "10.77.0.254"

// maxNumber is the highest number of a host.
const maxNumber = 200

// A Host is a network namespace with one address, or with more of [Net.AddHostOf]. Its methods may be called by
// several goroutines at the same time, until the [Net] is closed.
type Host struct {
	Name, IP string

	more   []string // addresses
	space  *space
	device string // the one that its packets leave by

	rules  sync.Mutex // is held to change rules of iptables
	limits struct {
		sync.Mutex
		rates []int64 // of faults, in bits in a second
	}
}

// Addresses are all addresses of the host.
func (h *Host) Addresses() []string { return append([]string{h.IP}, h.more...) }

// Do runs f on a thread inside the host and returns its error: sockets that f
// makes and processes that f starts are inside and stay there. Goroutines that f
// starts are not inside, so f dials addresses and no names. Calls do not wait for
// each other. The thread outlives the call, so that a process with a Pdeathsig
// lives until this process ends. f must not call [runtime.Goexit], and neither
// testing's FailNow.
func (h *Host) Do(f func() error) error {
	if err := h.space.do(f); err != nil {
		return fmt.Errorf("host %s: %w", h.Name, err)
	}
	return nil
}

// Run runs a program inside the host and waits for it. What it wrote to its
// standard error is in the error. It is killed if ctx is done first.
func (h *Host) Run(ctx context.Context, program string, args ...string) error {
	return h.feed(ctx, "", program, args...)
}

// feed is Run with a standard input.
func (h *Host) feed(ctx context.Context, input, program string, args ...string) error {
	if err := h.space.run(ctx, input, nil, program, args...); err != nil {
		return fmt.Errorf("host %s: %w", h.Name, err)
	}
	return nil
}
