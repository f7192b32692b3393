package allocator

import (
	"context"
	"time"
)

// Granter grants windows. The lanes of a member call a leaderGranter, which
// proposes to Raft or calls the leader; those of an application ask an rpc.MemberGranter,
// which calls a member over gRPC. The same two grant blocks, see [BlockGranter].
//
// A call that fails may still have been carried out: a lost reply is a
// lost window, never assumed not to have been granted. The errors that mean
// something to a lane are [ErrWindowMismatch], [*WorkersExhaustedError] and
// [ErrTimeExhausted], wrapped or not; all others are tried again.
//
// Implementations are called from several goroutines and must return soon after
// their context is done; [Issuer.Close] waits for them.
type Granter interface {
	// AcquireWorker grants a free worker and its first window.
	AcquireWorker(ctx context.Context, r AcquireRequest) (Grant, error)
	// ExtendWindow moves the end of a window, provided that worker, token,
	// nonce and end are what the request says; otherwise [ErrWindowMismatch]. A
	// repetition of the worker's last extension gets the window as it is.
	ExtendWindow(ctx context.Context, r ExtendRequest) (Grant, error)
	// ReleaseWorker releases a worker under the same conditions.
	ReleaseWorker(ctx context.Context, r ReleaseRequest) error
}

// Nonce distinguishes two starts of a process of the same name. It is drawn at
// random when a process starts and never stored.
type Nonce [16]byte

// AcquireRequest requests a worker.
type AcquireRequest struct {
	Layout    string
	Holder    string // stable name of the lane
	Nonce     Nonce
	NowMillis int64         // this process's clock, Unix milliseconds
	Window    time.Duration // wanted, counted from NowMillis
}

// ExtendRequest requests a later end of a window.
type ExtendRequest struct {
	Layout    string
	Worker    uint64
	Token     uint64
	Nonce     Nonce
	Until     int64         // the end that the holder knows of
	ID        uint64        // of the extension and its repetitions, not 0
	NowMillis int64         // this process's clock, Unix milliseconds
	Window    time.Duration // wanted, counted from NowMillis
}

// ReleaseRequest releases a worker.
type ReleaseRequest struct {
	Layout string
	Worker uint64
	Token  uint64
	Nonce  Nonce
	Until  int64 // the end that the holder knows of
	// Next is the first tick in which nothing was issued: the last tick + 1, or
	// the window's start if nothing was issued at all.
	Next int64
}

// Grant is a window [From, Until) of ticks on a worker.
type Grant struct {
	Worker         uint64
	Token          uint64 // fencing token, greater than 0
	From, Until    int64
	ObservedMillis int64         // the observed clock, Unix milliseconds
	MaxWindow      time.Duration // the longest window the cluster grants; 0 if unknown
}
