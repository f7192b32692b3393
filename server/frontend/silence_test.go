package frontend

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/trust"
)

// silently begins a call and sends no message. The returned channel is closed when the server ends the call.
func silently(ctx context.Context, t *testing.T, conn *grpc.ClientConn, method string) <-chan struct{} {
	t.Helper()
	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, method)
	ended := make(chan struct{})
	if err != nil { // the server closed the connection
		close(ended)
		return ended
	}
	go func() {
		defer close(ended)
		_ = stream.RecvMsg(&snowraftv1.GetStatusResponse{})
	}()
	return ended
}

// Of any number of strangers' calls, only few are open at a time. A caller that begins many calls at once loses none.
func TestSilentCallsMakeWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		pipes := &pipeListener{conns: make(chan net.Conn), closed: make(chan struct{})}
		s, connect := serveEchoOn(t, secret(), remoteListener{pipes}, grpc.WithContextDialer(pipes.dial))
		flood, stop := context.WithCancel(t.Context())
		defer stop()
		var open atomic.Int64
		const begun = 2 * maxSilent
		for range begun / 500 {
			conn := connect()
			for range 500 {
				open.Add(1)
				ended := silently(flood, t, conn, snowraftv1.IdService_GenerateIds_FullMethodName)
				go func() {
					<-ended
					open.Add(-1)
				}()
			}
		}
		synctest.Wait() // no time passes, so no call has timed out
		if n := open.Load(); n == 0 || n > maxSilent {
			t.Errorf("%d silent calls are open, want at most %d", n, maxSilent)
		}

		client := snowraftv1.NewClusterServiceClient(connect())
		var wg sync.WaitGroup
		for range maxConcurrentStreams {
			wg.Go(func() {
				if _, err := client.GetStatus(withGood(t.Context()), &snowraftv1.GetStatusRequest{}); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()

		stop()
		synctest.Wait()
		if left := s.silence.strange.calls.Len(); left > 0 {
			t.Errorf("%d calls that are over count as silent", left)
		}
	})
}

// The silent calls of authorized callers and of all callers of an open cluster are also bounded, and end.
func TestSilentCallsOfCallersAreBounded(t *testing.T) {
	t.Parallel()
	for name, auth := range map[string]*Auth{"secured": secret(), "open": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				pipes := &pipeListener{conns: make(chan net.Conn), closed: make(chan struct{})}
				s, connect := serveEchoOn(t, auth, remoteListener{pipes}, grpc.WithContextDialer(pipes.dial))
				flood, stop := context.WithCancel(withGood(t.Context()))
				defer stop()
				var all []*grpc.ClientConn
				known := func() *grpc.ClientConn {
					conn := connect()
					all = append(all, conn)
					if _, err := snowraftv1.NewClusterServiceClient(conn).GetStatus(withGood(t.Context()), &snowraftv1.GetStatusRequest{}); err != nil {
						t.Fatal(err)
					}
					return conn
				}
				var open atomic.Int64
				const conns, each = 10, maxConcurrentStreams
				for range conns {
					conn := known()
					for range each {
						open.Add(1)
						ended := silently(flood, t, conn, snowraftv1.IdService_GenerateIds_FullMethodName)
						go func() {
							<-ended
							open.Add(-1)
						}()
					}
				}
				synctest.Wait()
				const most = freeSilent + conns*freeSilentOf + maxKnownSilent
				if n := open.Load(); n == 0 || n > most {
					t.Errorf("%d silent calls are open, want at most %d", n, most)
				}
				client := snowraftv1.NewClusterServiceClient(known())
				var wg sync.WaitGroup
				for range each {
					wg.Go(func() {
						if _, err := client.GetStatus(withGood(t.Context()), &snowraftv1.GetStatusRequest{}); err != nil {
							t.Error(err)
						}
					})
				}
				wg.Wait()
				<-time.After(silenceLimit + time.Second)
				synctest.Wait()
				if n := open.Load(); n > freeSilent+conns*freeSilentOf {
					t.Errorf("%d silent calls are open after %v", n, silenceLimit)
				}
				stop()
				for _, conn := range all {
					_ = conn.Close()
				}
				synctest.Wait()
				if free, watched := s.silence.free.Load(), s.silence.known.calls.Len(); free != 0 || watched != 0 {
					t.Errorf("%d and %d calls that are over count as silent", free, watched)
				}
			})
		})
	}
}

// remote is a connection through memory with the address of a network connection.
type remote struct{ net.Conn }

func (remote) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 1} }

// remoteListener accepts remote connections.
type remoteListener struct{ *pipeListener }

func (l remoteListener) Accept() (net.Conn, error) {
	c, err := l.pipeListener.Accept()
	if err != nil {
		return nil, err
	}
	return remote{c}, nil
}

// A call without a message ends, unless its caller is known. A connection with many such calls is closed.
func TestSilentCallsEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		pipes := &pipeListener{conns: make(chan net.Conn), closed: make(chan struct{})}
		_, connect := serveEchoOn(t, secret(), remoteListener{pipes}, grpc.WithContextDialer(pipes.dial))
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		const ids = snowraftv1.IdService_StreamIds_FullMethodName
		stranger, flooding := connect(), connect()
		calls := []struct {
			what string
			over <-chan struct{}
			ends bool
		}{
			{"a stream of IDs", silently(ctx, t, stranger, ids), true},
			{"a unary call", silently(ctx, t, stranger, snowraftv1.IdService_GenerateIds_FullMethodName), true},
			{"a watch", silently(ctx, t, stranger, grpc_health_v1.Health_Watch_FullMethodName), true},
			{"a watch with its message", watching(ctx, t, stranger), false},
			{"a stream of IDs with a token", silently(withGood(ctx), t, connect(), ids), false},
			{"a watch on a connection with very many silent calls", watching(ctx, t, flooding), true},
		}
		for range maxSilences {
			silently(ctx, t, flooding, ids)
		}
		<-time.After(silenceLimit - time.Second)
		synctest.Wait()
		for _, call := range calls {
			if isOver(call.over) {
				t.Errorf("%s ended early", call.what)
			}
		}
		<-time.After(2 * time.Second)
		synctest.Wait()
		for _, call := range calls {
			if isOver(call.over) != call.ends {
				t.Errorf("%s ended: %v", call.what, !call.ends)
			}
		}
	})
}

// A connection counts as a stranger's after its caller's token is revoked, until a call has a valid token.
func TestSilentCallsOfRevokedTokenEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		pipes := &pipeListener{conns: make(chan net.Conn), closed: make(chan struct{})}
		table := revocable{oneSecret{secret: trust.NewTokenSecret()}, new(atomic.Bool)}
		s, connect := serveEchoOn(t, &Auth{Tokens: trust.NewAuthorizer(table)}, remoteListener{pipes}, grpc.WithContextDialer(pipes.dial))
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		conn := connect()
		call := func() error {
			with := metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+table.text(17))
			_, err := snowraftv1.NewClusterServiceClient(conn).GetStatus(with, &snowraftv1.GetStatusRequest{})
			return err
		}
		strangers := func() int {
			ended := silently(ctx, t, conn, snowraftv1.IdService_GenerateIds_FullMethodName)
			synctest.Wait()
			s.silence.strange.mu.Lock()
			n := s.silence.strange.calls.Len()
			s.silence.strange.mu.Unlock()
			<-time.After(silenceLimit + time.Second)
			synctest.Wait()
			if isOver(ended) != (n > 0) {
				t.Errorf("the silent call is over: %v, and was watched: %v", isOver(ended), n > 0)
			}
			return n
		}
		for _, c := range []struct {
			revoked bool
			want    int
		}{{false, 0}, {true, 1}, {false, 0}} {
			table.revoked.Store(c.revoked)
			if err := call(); (err != nil) != c.revoked {
				t.Fatal(err)
			}
			if n := strangers(); n != c.want {
				t.Errorf("token revoked: %v: %d silent calls of strangers, want %d", c.revoked, n, c.want)
			}
		}
	})
}

// watching begins a watch and receives its first answer. The returned channel is closed when the server ends the watch.
func watching(ctx context.Context, t *testing.T, conn *grpc.ClientConn) <-chan struct{} {
	t.Helper()
	stream, err := grpc_health_v1.NewHealthClient(conn).Watch(ctx, &grpc_health_v1.HealthCheckRequest{})
	if err == nil {
		_, err = stream.Recv()
	}
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = stream.Recv()
	}()
	return ended
}

func isOver(ended <-chan struct{}) bool {
	select {
	case <-ended:
		return true
	default:
		return false
	}
}
