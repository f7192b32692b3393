package server_test

import (
	"context"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowraft/snowraft/internal/test/memnet"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server"
)

// roaming is the network of a member whose host gets another address: its connections end in silence, and it opens new ones
// from the other address.
type roaming struct {
	server.Network
	other server.Network

	mu    sync.Mutex
	away  bool
	conns []*lostConn
}

func (r *roaming) move() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.away = true
	for _, c := range r.conns {
		c.lost.Store(true)
	}
}

// end closes all connections.
func (r *roaming) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.conns {
		_ = c.Conn.Close()
	}
}

func (r *roaming) track(conn net.Conn) net.Conn {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := &lostConn{Conn: conn}
	r.conns = append(r.conns, c)
	return c
}

func (r *roaming) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	r.mu.Lock()
	from := r.Network
	if r.away {
		from = r.other
	}
	r.mu.Unlock()
	conn, err := from.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return r.track(conn), nil
}

func (r *roaming) Listen(ctx context.Context, network, address string) (net.Listener, error) {
	l, err := r.Network.Listen(ctx, network, address)
	return roamingListener{l, r}, err
}

type roamingListener struct {
	net.Listener
	of *roaming
}

func (l roamingListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return l.of.track(conn), nil
}

// lostConn is a connection of a member. Once it is lost, no byte leaves and none arrives, and the other end does not learn of
// the close.
type lostConn struct {
	net.Conn
	lost atomic.Bool
}

func (c *lostConn) Read(b []byte) (int, error) {
	for {
		n, err := c.Conn.Read(b)
		if err != nil || !c.lost.Load() {
			return n, err
		}
	}
}

func (c *lostConn) Write(b []byte) (int, error) {
	if c.lost.Load() {
		return len(b), nil
	}
	return c.Conn.Write(b)
}

func (c *lostConn) Close() error {
	if c.lost.Load() {
		return c.SetReadDeadline(time.Unix(1, 0))
	}
	return c.Conn.Close()
}

// A member that gets another address and then the leadership answers the requests that other members forward, although their
// connections to the former address are silent.
func TestTransferToMovedMember(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		network := memnet.New()
		networks.Store(t, network.Host("127.0.0.1"))
		paths := make(map[string]*roaming)
		nodes := startCluster(t, 3, func(c *server.Config) {
			paths[c.Name] = &roaming{Network: network.Host("127.0.0.1"), other: network.Host("127.0.0.2")}
			c.Network = paths[c.Name]
		})
		lead := func(n *node) {
			t.Helper()
			until(t, n.cfg.Name+" leads", func() bool {
				if i := slices.IndexFunc(nodes, (*node).leads); i >= 0 && nodes[i] != n {
					_, _ = nodes[i].cluster.TransferLeadership(t.Context(), &snowraftv1.TransferLeadershipRequest{Member: n.cfg.Name})
				}
				return n.leads()
			})
		}
		nodes[0].createSequence(strict("s"))
		next := func() {
			t.Helper()
			if _, err := nodes[1].sequences.NextNumbers(t.Context(), &snowraftv1.NextNumbersRequest{Sequence: "s", Count: 1}); err != nil {
				t.Fatal(err)
			}
		}
		moved := nodes[2]
		lead(moved)
		next()
		lead(nodes[0])
		next()
		paths[moved.cfg.Name].move()
		defer paths[moved.cfg.Name].end()
		lead(moved)
		began := time.Now()
		next()
		if took := time.Since(began); took > 100*time.Millisecond {
			t.Errorf("the first number took %v", took)
		}
	})
}
