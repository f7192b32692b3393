package client

import "time"

// Hooks are functions that the client calls to report its calls, for counts and times. A nil function is not called.
// The functions run in the client's goroutines and delay them, so they must be fast. They may run concurrently.
type Hooks struct {
	// Try is called after each try of a call, and after each request on a stream.
	Try func(TryInfo)
	// Batch is called after each call, or request on a stream, that served coalesced callers.
	Batch func(BatchInfo)
}

// TryInfo describes one try of a call, or a request on a stream.
type TryInfo struct {
	Method string        // gRPC method of the call or stream, such as "/snowraft.v1.IdService/GenerateIds"
	Member string        // address of the member; empty if none could be called
	Took   time.Duration // time until the answer
	// Err is the error of gRPC. Its code is CANCELED if another member that was called at the same time was
	// faster.
	Err error
}

// BatchInfo describes one call, or request on a stream, for IDs or numbers.
type BatchInfo struct {
	Callers int // callers that the call served
	Count   int // IDs or numbers that they requested
	Err     error
}

func (h *Hooks) batch(callers int, count uint64, err error) {
	if h.Batch != nil {
		h.Batch(BatchInfo{Callers: callers, Count: int(count), Err: err})
	}
}
