package client

import (
	"fmt"
	"math"
	"time"

	"google.golang.org/grpc"

	"github.com/snowraft/snowraft/internal/limits"
)

// never is the hedging delay that disables hedging.
const never time.Duration = math.MaxInt64

// Option configures a [Client].
type Option func(*options)

type options struct {
	access
	timeout time.Duration
	hedge   time.Duration
	dial    []grpc.DialOption
	hooks   Hooks
	oneShot bool
}

func newOptions(opts []Option) (options, error) {
	o := options{timeout: limits.CallTimeout, hedge: never}
	for _, set := range opts {
		set(&o)
	}
	switch {
	case o.timeout <= 0:
		return o, fmt.Errorf("client: timeout %v: must be greater than 0", o.timeout)
	case o.hedge <= 0:
		return o, fmt.Errorf("client: hedging delay %v: must be greater than 0", o.hedge)
	}
	return o, o.resolve()
}

// WithTimeout sets the time limit of calls whose context has no deadline; the default is 10 s. The limit covers
// all tries of a call. It must be greater than 0.
func WithTimeout(d time.Duration) Option { return func(o *options) { o.timeout = d } }

// WithHedging sends a request for IDs to a second member if the first has not answered within the given time, and
// takes the answer that arrives first. IDs that the other member issues are lost. The client does not hedge requests
// for numbers of sequences, because that would leave gaps. The time must be greater than 0.
func WithHedging(after time.Duration) Option { return func(o *options) { o.hedge = after } }

// WithOneShot configures the client for a program that makes a few calls and exits, such as a command-line tool.
// The client calls only the members at the given addresses, one at a time and in this order, starting with the
// member that answered last. It connects to a member on the first call to it. In the background, it neither learns
// of other members nor watches their health. A call fails as soon as each member has failed, unless one of them
// expects to answer in a moment; [Error.Each] lists the reasons. The client sends no requests for IDs and numbers on
// streams. [Client.Ready] connects as it does without this option.
func WithOneShot() Option { return func(o *options) { o.oneShot = true } }

// WithDialOptions adds gRPC options to the connections, such as interceptors or OpenTelemetry's stats handler.
// They see each try of a call, in a context with the values of the first caller that shares the call. Most requests
// for IDs and numbers travel on streams: the options see each stream as one long call, without the values of any
// caller. [Hooks] report each request.
func WithDialOptions(opts ...grpc.DialOption) Option {
	return func(o *options) { o.dial = append(o.dial, opts...) }
}

// WithHooks sets functions that report the client's calls; see [Hooks].
func WithHooks(h Hooks) Option { return func(o *options) { o.hooks = h } }

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
