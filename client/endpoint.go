package client

import (
	"context"
	"errors"
	"net"
	"os"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/status"

	"github.com/snowraft/snowraft/internal/limits"
)

// connectLimit is the longest that a member may take to accept a connection.
const connectLimit = time.Second

// endpoint is the address of a member and the connection to it.
type endpoint struct {
	addr string
	opts *options

	mu     sync.Mutex
	conn   *grpc.ClientConn // nil: none
	failed error            // result of the last dial
	closed bool
}

// unsent is the error of a request that was not sent, as there was no connection.
type unsent struct{ why error }

func (u *unsent) Error() string              { return u.why.Error() }
func (u *unsent) GRPCStatus() *status.Status { return status.New(codes.Unavailable, u.Error()) }

var (
	errSilent = errors.New("no connection in time")
	errNotAPI = errors.New("connected, but no API answers: is it the address of a member's API?")
)

// connect returns the connection once it is made.
func (e *endpoint) connect(ctx context.Context) (*grpc.ClientConn, error) {
	ctx, cancel := context.WithTimeout(ctx, connectLimit)
	defer cancel()
	conn, err := e.open()
	if err != nil {
		return nil, &unsent{err}
	}
	conn.Connect()
	for {
		state := conn.GetState()
		switch state {
		case connectivity.Ready:
			return conn, nil
		case connectivity.TransientFailure, connectivity.Shutdown:
			return nil, e.drop(errNotAPI)
		}
		if !conn.WaitForStateChange(ctx, state) {
			return nil, e.drop(errSilent)
		}
	}
}

// open returns the connection, which may not be made yet.
func (e *endpoint) open() (conn *grpc.ClientConn, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, ErrClosed
	}
	if e.conn == nil {
		e.conn, err = grpc.NewClient("passthrough:///"+e.addr, append([]grpc.DialOption{ // dial resolves names, and tries all of their addresses
			grpc.WithTransportCredentials(e.opts.credentials),
			grpc.WithDisableRetry(), // as in newChannel
			grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(limits.AnswerBytes)),
			grpc.WithContextDialer(e.dial),
		}, e.opts.dial...)...)
	}
	return e.conn, err
}

func (e *endpoint) dial(ctx context.Context, addr string) (net.Conn, error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", addr)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.failed = err
	return conn, err
}

// drop ends the connection, so that the next try makes another without the pause of gRPC. It
// returns why there is no connection: the error of the last dial, or else otherwise.
func (e *endpoint) drop(otherwise error) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.disconnect()
	if e.failed != nil {
		otherwise = innermost(e.failed)
	}
	return &unsent{otherwise}
}

// disconnect ends the connection. Requires e.mu.
func (e *endpoint) disconnect() {
	if e.conn != nil {
		_ = e.conn.Close() // only ever says that it was closed before
		e.conn = nil
	}
}

func (e *endpoint) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = true
	e.disconnect()
}

// innermost shortens the error of a dialer, whose address stands beside it.
func innermost(err error) error {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) {
		return errSilent
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		err = op.Err
	}
	if call, ok := errors.AsType[*os.SyscallError](err); ok {
		err = call.Err
	}
	return err
}
