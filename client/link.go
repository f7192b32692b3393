package client

import (
	"context"
	"errors"
	"net"
	"os"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/status"

	"github.com/snowraft/snowraft/internal/limits"
)

// connectLimit is the longest that a member may take to accept a connection.
const connectLimit = time.Second

// unsent is the error of a request that was not sent, because there was no connection.
type unsent struct{ error }

func (u unsent) GRPCStatus() *status.Status { return status.New(codes.Unavailable, u.Error()) }

var (
	errSilent = errors.New("no connection in time")
	errNotAPI = errors.New("connected, but no API answers at this address")
)

// link is a connection to one member.
type link struct {
	*grpc.ClientConn
	dialed atomic.Pointer[error] // result of the last dial
}

func newLink(addr string, o *options) (l *link, err error) {
	l = new(link)
	dial := func(ctx context.Context, addr string) (net.Conn, error) { // resolves names, and tries all of their addresses
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
		l.dialed.Store(&err)
		return conn, err
	}
	l.ClientConn, err = grpc.NewClient("passthrough:///"+addr, append([]grpc.DialOption{
		grpc.WithTransportCredentials(o.credentials),
		grpc.WithDisableRetry(), // as in newChannel
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(limits.AnswerBytes)),
		grpc.WithContextDialer(dial),
	}, o.dial...)...)
	return l, err
}

// ready returns once the connection is made, or with an unsent.
func (l *link) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, connectLimit)
	defer cancel()
	l.Connect()
	for {
		state, why := l.GetState(), errNotAPI
		switch state {
		case connectivity.Ready:
			return nil
		case connectivity.TransientFailure, connectivity.Shutdown:
		default:
			if l.WaitForStateChange(ctx, state) {
				continue
			}
			why = errSilent
		}
		if err := l.dialed.Load(); err != nil && *err != nil {
			why = innermost(*err)
		}
		return unsent{why}
	}
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
