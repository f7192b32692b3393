package allocator

import (
	"context"
	"time"
)

// Granter grants windows. The lanes of a member call a leaderGranter, which proposes to Raft or calls the
// leader. The lanes of an application call an rpc.MemberGranter, which calls a member over gRPC. The same two
// types grant blocks, see [BlockGranter].
//
// A failed call may still have been carried out: the window of a lost reply is lost, and never assumed not to
// have been granted. Lanes distinguish the errors [ErrWindowMismatch], [*WorkersExhaustedError],
// [*FencedError], [ErrTimeExhausted], [ErrOldClusterAlive], [ErrSetBack], [ErrContradicted] and clock errors,
// wrapped or not; they retry after all errors.
//
// Implementations are called from several goroutines and must return soon after their context is done;
// [Issuer.Close] waits for them.
type Granter interface {
	// AcquireWorker grants a free worker and its first window.
	AcquireWorker(ctx context.Context, r AcquireRequest) (Grant, error)
	// ExtendWindow moves the end of a window, provided that worker, token, nonce and end are those of the
	// request; otherwise the error is [ErrWindowMismatch]. A repetition of the worker's last extension returns
	// the window as it is.
	ExtendWindow(ctx context.Context, r ExtendRequest) (Grant, error)
	// ReleaseWorker releases a worker under the same conditions. The next holder may begin at r.Next.
	ReleaseWorker(ctx context.Context, r ReleaseRequest) error
}

// Nonce distinguishes two starts of a process of the same name. It is drawn at
// random when a process starts and never stored. It is secret: a process that has it can extend and
// release the worker.
type Nonce [16]byte

// AcquireRequest is a request for a worker.
type AcquireRequest struct {
	Layout    string
	Holder    string // stable name of the lane
	Nonce     Nonce
	NowMillis int64         // this process's clock, Unix milliseconds
	Window    time.Duration // wanted length, counted from NowMillis or, if that is later, the window's start
	Below     uint64        // wanted are only workers below it; 0 for any
	Process   Process       // the holder's process; zero for no description
}

// Process describes the process of a holder, for people. Each text has at most 128 bytes.
type Process struct{ Host, ID, Kind, Version string }

// ExtendRequest is a request for a later end of a window.
type ExtendRequest struct {
	Layout    string
	Worker    uint64
	Token     uint64
	Nonce     Nonce
	Until     int64         // end of the window that the holder knows, a tick
	ID        uint64        // shared by the extension and its repetitions; not 0
	NowMillis int64         // this process's clock, Unix milliseconds
	Window    time.Duration // wanted length, counted from NowMillis
}

// ReleaseRequest is a request to release a worker.
type ReleaseRequest struct {
	Layout string
	Worker uint64
	Token  uint64
	Nonce  Nonce
	Until  int64 // end of the window that the holder knows, a tick
	// Next is the first tick in which nothing was issued: the last tick used + 1, or the window's start if
	// nothing was issued at all.
	Next int64
}

// Grant is a window [From, Until) of ticks on a worker.
type Grant struct {
	Worker         uint64
	Token          uint64        // fencing token, greater than 0
	From, Until    int64         // ticks
	ObservedMillis int64         // observed clock, Unix milliseconds
	MaxWindow      time.Duration // longest window that the cluster grants; 0 if unknown
}
