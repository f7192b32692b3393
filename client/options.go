package client

import (
	"fmt"
	"math"
	"time"

	"google.golang.org/grpc"

	"github.com/snowraft/snowraft/internal/limits"
)

// never is the pause before a second member is asked, without hedging.
const never time.Duration = math.MaxInt64

// Option changes what [New] makes.
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

// WithTimeout bounds calls whose context has no deadline; the default is 10 s. It covers
// all tries of a call. It has to be greater than 0.
func WithTimeout(d time.Duration) Option { return func(o *options) { o.timeout = d } }

// WithHedging asks a second member when the first has not answered a request for IDs
// after so long, and takes the answer that comes first; what the other issues is lost.
// Sequences are not hedged, since that would make gaps. It has to be greater than 0.
func WithHedging(after time.Duration) Option { return func(o *options) { o.hedge = after } }

// WithOneShot is for programs that make a few calls and exit, such as a command line. The client
// asks only the members at the given addresses, in this order and one at a time, and begins with the
// member that answered last. It connects when it first queries a member, and works in the background
// neither to learn of other members nor to watch their health. A call fails as soon as each member
// has failed, unless one of them expects to answer in a moment, and [Error.Each] lists the reasons.
// Streams are not supported, and [Client.Ready] connects as it does without this option.
func WithOneShot() Option { return func(o *options) { o.oneShot = true } }

// WithDialOptions adds options of gRPC to the connections: interceptors, a stats handler
// such as OpenTelemetry's. They see each try of a call, in a context with the values of the first caller
// that shares the call. Most requests for IDs and numbers travel on streams: of these, the options see each stream
// as one long call, without the values of any caller. [Hooks] report each request.
func WithDialOptions(opts ...grpc.DialOption) Option {
	return func(o *options) { o.dial = append(o.dial, opts...) }
}

// WithHooks reports what the client does; see [Hooks].
func WithHooks(h Hooks) Option { return func(o *options) { o.hooks = h } }
