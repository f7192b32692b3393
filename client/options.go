package client

import (
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/snowraft/snowraft/internal/limits"
)

// Option changes what [New] makes.
type Option func(*options) error

type options struct {
	timeout     time.Duration
	hedge       time.Duration
	credentials credentials.TransportCredentials
	dial        []grpc.DialOption
	hooks       Hooks
	oneShot     bool
}

func newOptions(opts []Option) (options, error) {
	o := options{timeout: limits.CallTimeout, credentials: insecure.NewCredentials()}
	if err := apply(&o, opts); err != nil {
		return options{}, err
	}
	return o, nil
}

// apply sets what options say, in their order, up to the first that is wrong.
func apply[O any, F ~func(*O) error](to *O, opts []F) error {
	for _, set := range opts {
		if err := set(to); err != nil {
			return err
		}
	}
	return nil
}

// WithTimeout bounds calls whose context has no deadline; the default is 10 s. It covers
// all tries of a call. It has to be greater than 0.
func WithTimeout(d time.Duration) Option {
	return func(o *options) error {
		if d <= 0 {
			return fmt.Errorf("client: a timeout of %v: expected more than 0", d)
		}
		o.timeout = d
		return nil
	}
}

// WithHedging asks a second member when the first has not answered a request for IDs
// after so long, and takes the answer that comes first; what the other issues is lost.
// Sequences are not hedged, since that would make gaps. It has to be greater than 0.
func WithHedging(after time.Duration) Option {
	return func(o *options) error {
		if after <= 0 {
			return fmt.Errorf("client: hedging after %v: expected more than 0", after)
		}
		o.hedge = after
		return nil
	}
}

// WithOneShot is for programs that make a few calls and exit, such as a command line. The client
// asks only the members at the given addresses, in this order and one at a time, and begins with the
// member that answered last. It connects when it first asks a member, and works in the background
// neither to learn of other members nor to watch their health. A call fails as soon as each member
// has failed, unless one of them expects to answer in a moment, and [Error.Each] lists the reasons.
// Streams are not supported, and [Client.Ready] connects as it does without this option.
func WithOneShot() Option {
	return func(o *options) error {
		o.oneShot = true
		return nil
	}
}

// WithTransportCredentials secures the connections; without it they are plain TCP.
// A member's certificate has to be valid for the host in its address.
func WithTransportCredentials(c credentials.TransportCredentials) Option {
	return func(o *options) error {
		if c == nil {
			return errors.New("client: no transport credentials: leave the option out for plain TCP")
		}
		o.credentials = c
		return nil
	}
}

// WithDialOptions adds options of gRPC to the connections: interceptors, a stats handler
// such as OpenTelemetry's. They see each try of a call, in a context with the values of the caller who
// was the first to ask for what the call gets.
func WithDialOptions(opts ...grpc.DialOption) Option {
	return func(o *options) error {
		o.dial = append(o.dial, opts...)
		return nil
	}
}

// WithHooks tells what the client does; see [Hooks].
func WithHooks(h Hooks) Option {
	return func(o *options) error {
		o.hooks = h
		return nil
	}
}
