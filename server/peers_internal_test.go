package server

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/keepalive"

	"github.com/snowraft/snowraft/cluster"
	"github.com/snowraft/snowraft/internal/limits"
	"github.com/snowraft/snowraft/internal/test/memnet"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// mutedConn loses what is written while it is muted.
type mutedConn struct {
	net.Conn
	muted *atomic.Bool
}

func (c mutedConn) Write(b []byte) (int, error) {
	if c.muted.Load() {
		return len(b), nil
	}
	return c.Conn.Write(b)
}

// A connection to a member that does not hear this one ends within seconds, also without calls. The next call has a new
// connection, and does not wait for the old one to fail.
func TestSilentIdleConnectionEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		network := memnet.New()
		listener, err := network.Host("127.0.0.1").Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		s := grpc.NewServer(grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 5 * time.Second, PermitWithoutStream: true}))
		snowraftv1.RegisterSequenceServiceServer(s, new(fakeLeader))
		go func() { _ = s.Serve(listener) }()
		defer s.Stop()
		var dials atomic.Int64
		var muted atomic.Bool
		p := newPeers(func() (string, string) { return "follower", "cluster" }, nil, nil, grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
			dials.Add(1)
			conn, err := network.Host("127.0.0.2").DialContext(ctx, "tcp", address)
			return mutedConn{conn, &muted}, err
		}))
		defer p.close()
		call := func() {
			t.Helper()
			began := time.Now()
			err := p.Invoke(t.Context(), cluster.Member{ID: "leader", API: listener.Addr().String()}, snowraftv1.SequenceService_NextNumbers_FullMethodName,
				&snowraftv1.NextNumbersRequest{Count: 1}, new(snowraftv1.NextNumbersResponse))
			if took := time.Since(began); err != nil || took > time.Second {
				t.Errorf("%v after %v", err, took)
			}
		}
		call()
		<-time.After(time.Minute)
		call()
		if n := dials.Load(); n != 1 {
			t.Errorf("%d connections to a member that answers, want 1", n)
		}
		muted.Store(true)
		<-time.After(13 * time.Second)
		muted.Store(false)
		call()
		if n := dials.Load(); n != 2 {
			t.Errorf("%d connections, want 2", n)
		}
	})
}

// A connection to the host that a member moved from stays open for calls in progress, and ends with the member at the latest.
func TestReplacedConnectionEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		connect := func(p *peers, host uint64) *grpc.ClientConn {
			t.Helper()
			conn, err := p.conn(cluster.Member{ID: "leader", API: "127.0.0.1:1", Host: host})
			if err != nil {
				t.Fatal(err)
			}
			l, ok := conn.(link)
			if !ok {
				t.Fatalf("conn() = %T", conn)
			}
			return l.ClientConn
		}
		for _, c := range []struct {
			wait time.Duration
			ends bool // the member
		}{{limits.CallTimeout, false}, {0, true}} {
			p := newPeers(func() (string, string) { return "follower", "cluster" }, nil, nil)
			defer p.close()
			first, second := connect(p, 1), connect(p, 2)
			if first == second || first.GetState() == connectivity.Shutdown {
				t.Errorf("connections %p and %p, the first is %v", first, second, first.GetState())
			}
			<-time.After(c.wait)
			if c.ends {
				p.close()
			}
			synctest.Wait()
			if first.GetState() != connectivity.Shutdown {
				t.Errorf("%+v: the replaced connection is %v", c, first.GetState())
			}
			if got := second.GetState() == connectivity.Shutdown; got != c.ends {
				t.Errorf("%+v: the present connection is %v", c, second.GetState())
			}
		}
	})
}
