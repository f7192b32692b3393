//go:build linux

package network

import (
	"context"
	"fmt"
	"sync"
)

// Harness is the name of the host of this process and of the clients.
const Harness = "harness"

// HarnessIP is the address of [Harness].
const HarnessIP = "10.77.0.254"

// maxNumber is the highest number of a host's address.
const maxNumber = 200

// A Host is a network namespace with one address, or with several if [Net.AddHostOf] made it. Its methods may be called
// from any goroutine until the [Net] is closed.
type Host struct {
	Name, IP string

	more   []string // further addresses
	space  *space
	device string // network device of the host's packets

	rules  sync.Mutex // held while rules of iptables change
	limits struct {
		sync.Mutex
		rates []int64 // limits of the faults, bits per second
	}
}

// Addresses returns all addresses of the host.
func (h *Host) Addresses() []string { return append([]string{h.IP}, h.more...) }

// Do runs f on a thread inside the host and returns its error. Sockets that f opens and processes that f starts stay
// inside the host. Goroutines that f starts are not inside, so f must dial addresses, not names. Calls do not wait for
// each other. The thread outlives the call, so a process with a Pdeathsig lives until this process stops. f must not call
// [runtime.Goexit] or the FailNow of package testing.
func (h *Host) Do(f func() error) error {
	if err := h.space.do(f); err != nil {
		return fmt.Errorf("host %s: %w", h.Name, err)
	}
	return nil
}

// Run runs a program inside the host and waits for it. An error includes the program's standard error. The program is
// killed if ctx ends first.
func (h *Host) Run(ctx context.Context, program string, args ...string) error {
	return h.feed(ctx, "", program, args...)
}

// feed does what Run does, with input as the program's standard input.
func (h *Host) feed(ctx context.Context, input, program string, args ...string) error {
	if err := h.space.run(ctx, input, nil, program, args...); err != nil {
		return fmt.Errorf("host %s: %w", h.Name, err)
	}
	return nil
}
