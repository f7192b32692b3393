package client

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"

	"github.com/snowraft/snowraft/internal/limits"
	"github.com/snowraft/snowraft/internal/rpc"
	"github.com/snowraft/snowraft/trust"
)

// connectLimit is the time within which a member must accept a connection while others are left.
const connectLimit = time.Second

// unsent is the error of a request that was not sent because there was no connection.
type unsent struct{ error }

func (u unsent) GRPCStatus() *status.Status { return status.New(codes.Unavailable, u.Error()) }

func (u unsent) Unwrap() error { return u.error }

var (
	errSilent      = errors.New("no connection in time")
	errNoHost      = errors.New("no such host")
	errNotResolved = errors.New("the host name cannot be resolved")
)

// link is a connection to one member.
type link struct {
	*grpc.ClientConn
	addr   string
	access *access
	dialed atomic.Pointer[error] // result of the last dial and handshake
}

func newLink(addr string, o *options) (l *link, err error) {
	l = &link{addr: addr, access: &o.access}
	dial := func(ctx context.Context, addr string) (net.Conn, error) { // resolves names and tries all their addresses
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
		l.dialed.Store(&err)
		return conn, err
	}
	l.ClientConn, err = grpc.NewClient("passthrough:///"+addr, slices.Concat(o.calls, []grpc.DialOption{
		grpc.WithTransportCredentials(watched{o.credentials, &l.dialed}),
		grpc.WithDisableRetry(), // same as newChannel
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(limits.AnswerBytes)),
		grpc.WithContextDialer(dial),
	}, o.dial)...)
	return l, err
}

// ready waits until the connection is established. Its error is an unsent.
func (l *link) ready(ctx context.Context) error {
	l.Connect()
	for {
		state, why := l.GetState(), rpc.ErrNotAPI
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
		} else if why == rpc.ErrNotAPI && l.access.plain() && speaksTLS(ctx, l.addr) { //nolint:errorlint // the very error from above
			why = rpc.ErrExpectsTLS
		}
		return unsent{why}
	}
}

// otherProtocol are the errors of handshakes with a TLS port that does not speak gRPC: of a server that chose no protocol, and of one
// that knows others. Neither has a type.
var otherProtocol = []string{"missing selected ALPN property", "tls: no application protocol"}

// innermost shortens the error of a dialer. The message that contains it already names the address.
func innermost(err error) error {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) {
		return errSilent
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return rpc.ErrNoTLS
	}
	if errors.Is(err, io.EOF) || slices.ContainsFunc(otherProtocol, func(text string) bool { return strings.Contains(err.Error(), text) }) {
		return rpc.ErrNotAPI
	}
	if _, ok := errors.AsType[*trust.UnknownIssuerError](err); ok {
		return fmt.Errorf("%w; use the pin, CA or secret file of that secret; if the secret was replaced, use its new pin, CA or secret file (see \"snowraft secret list\")", err)
	}
	if lookup, ok := errors.AsType[*net.DNSError](err); ok && lookup.IsNotFound {
		return errNoHost
	} else if ok {
		return errNotResolved
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		err = op.Err
	}
	if call, ok := errors.AsType[*os.SyscallError](err); ok {
		err = call.Err
	}
	return err
}

// watched is credentials that store the result of the last handshake.
type watched struct {
	credentials.TransportCredentials
	result *atomic.Pointer[error]
}

// ClientHandshake implements credentials.TransportCredentials.
func (w watched) ClientHandshake(ctx context.Context, authority string, raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, info, err := w.TransportCredentials.ClientHandshake(ctx, authority, raw)
	w.result.Store(&err)
	return conn, info, err
}

// Clone implements credentials.TransportCredentials.
func (w watched) Clone() credentials.TransportCredentials {
	return watched{w.TransportCredentials.Clone(), w.result}
}

// speaksTLS reports whether a TLS handshake with addr succeeds. It sends nothing afterwards, so the certificate does not matter.
func speaksTLS(ctx context.Context, addr string) bool {
	dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}} //nolint:gosec // see above
	conn, err := dialer.DialContext(ctx, "tcp", addr)
	if err == nil {
		_ = conn.Close() // no data to lose
	}
	return err == nil
}
