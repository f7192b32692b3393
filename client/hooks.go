package client

import "time"

// Hooks are called when something happens, to count and time it with whatever a program
// uses for that. A nil one is not called. They are called by the goroutine that did it, so they must
// be quick and may run at the same time as others.
type Hooks struct {
	// Try is called after each try of a call: the gRPC method, the member's address (empty if
	// none could be asked), how long it took, and its error as gRPC has it; CANCELED if another member
	// that was asked at the same time was faster.
	Try func(method, member string, took time.Duration, err error)
	// Batch is called after each call that served coalesced callers: how many callers, how many
	// IDs or numbers, and its error.
	Batch func(callers int, count uint64, err error)
}

func (h *Hooks) batch(callers int, count uint64, err error) {
	if h.Batch != nil {
		h.Batch(callers, count, err)
	}
}
