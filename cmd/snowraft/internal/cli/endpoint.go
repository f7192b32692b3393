package cli

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/snowraft/snowraft/internal/limits"
	"github.com/snowraft/snowraft/internal/rpc"
)

// connectLimit is how long a member may take to accept a connection.
const connectLimit = time.Second

// connectError says that there is no connection to a member, so that a call had no effect.
type connectError struct{ err error }

func (e *connectError) Error() string { return e.err.Error() }

var (
	errSilent = errors.New("no connection in time")
	errNotAPI = errors.New("connected, but no API answers: is it the address of a member's API?")
)

// endpoint is the address of a member's API and the connection to it.
type endpoint struct {
	Address string
	conn    *grpc.ClientConn
	dialErr atomic.Pointer[error] // why the last connection was not made
}

// call calls the member, with at most share of the time for it. A method that
// must not be repeated would be cut off in the middle by this; it gets all of
// the time once there is a connection.
func (e *endpoint) call(ctx context.Context, share time.Duration, method string, args, reply any, opts []grpc.CallOption) error {
	mine, cancel := context.WithTimeout(ctx, share)
	defer cancel()
	if err := e.connect(mine); err != nil {
		e.close() // the next try starts anew, without waiting for gRPC's backoff
		return &connectError{err}
	}
	if !rpc.RuleOf(method).Harmless(args) {
		mine = ctx
	}
	return e.conn.Invoke(mine, method, args, reply, opts...)
}

// connect returns when the connection is made.
func (e *endpoint) connect(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, connectLimit)
	defer cancel()
	if e.conn == nil {
		var err error
		if e.conn, err = e.dial(); err != nil {
			return err
		}
	}
	e.conn.Connect()
	for {
		state := e.conn.GetState()
		switch state {
		case connectivity.Ready:
			return nil
		case connectivity.TransientFailure, connectivity.Shutdown:
			return e.reason(errNotAPI)
		}
		if !e.conn.WaitForStateChange(ctx, state) {
			return e.reason(errSilent)
		}
	}
}

// reason is why there is no connection: what dialing said, else otherwise.
func (e *endpoint) reason(otherwise error) error {
	if err := e.dialErr.Load(); err != nil && *err != nil {
		return *err
	}
	return otherwise
}

func (e *endpoint) dial() (*grpc.ClientConn, error) {
	var dialer net.Dialer
	return grpc.NewClient("passthrough:///"+e.Address, // the dialer resolves names, and tries all of their addresses
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
			conn, err := dialer.DialContext(ctx, "tcp", address)
			e.dialErr.Store(&err)
			return conn, err
		}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(limits.AnswerBytes)),
	)
}

func (e *endpoint) close() {
	if e.conn != nil {
		_ = e.conn.Close() // only ever says that it was closed before
		e.conn = nil
	}
}
