package frontend

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/snowraft/snowraft/internal/rpc"
	"github.com/snowraft/snowraft/internal/slots"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server/conn"
	"github.com/snowraft/snowraft/trust"
)

// oneSecret is a trust.Table in which the tokens of all IDs have the same secret.
type oneSecret struct {
	noTable
	secret [32]byte
}

func (o oneSecret) Token(id uint64) (*trust.Record, bool) {
	return &trust.Record{ID: id, Name: "t", Hash: trust.HashTokenSecret(o.secret), Scopes: []trust.Scope{"cluster:read"}}, true
}

func (o oneSecret) text(id uint64) string { return trust.Token{ID: id, Secret: o.secret}.Text() }

// eight returns a server and a port with eight slots, two of them for each token.
func eight(t *testing.T, table trust.Table) (*Server, net.Listener) {
	t.Helper()
	s, _ := small(t, &Auth{Tokens: trust.NewAuthorizer(table)})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return s, conn.Listen(l, slots.New(8, 8), func(net.Conn) {})
}

func TestShareOfTokenOverGRPC(t *testing.T) {
	t.Parallel()
	tokens := oneSecret{secret: trust.NewTokenSecret()}
	s, l := eight(t, tokens)
	g := s.newGRPC()
	snowraftv1.RegisterClusterServiceServer(g, statusOnly{})
	go func() { _ = g.Serve(l) }()
	t.Cleanup(g.Stop)
	dial := func() func(id uint64) error {
		conn, err := grpc.NewClient("passthrough:///"+l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		return func(id uint64) error {
			ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+tokens.text(id))
			_, err := snowraftv1.NewClusterServiceClient(conn).GetStatus(ctx, &snowraftv1.GetStatusRequest{})
			return err
		}
	}
	first, second, third := dial(), dial(), dial()
	for _, call := range []func(uint64) error{first, second, first} {
		if err := call(17); err != nil {
			t.Error(err)
		}
	}
	if err := third(17); rpc.FromError(err).Reason != rpc.Overloaded {
		t.Errorf("a third of eight connections with one token: %v", err)
	}
	if err := third(18); err != nil {
		t.Errorf("another token: %v", err)
	}
	if err := third(17); err != nil {
		t.Errorf("on another token's connection, which a proxy may have: %v", err)
	}
}

func TestShareOfTokenOverHTTP(t *testing.T) {
	t.Parallel()
	tokens := oneSecret{secret: trust.NewTokenSecret()}
	s, l := eight(t, tokens)
	server := &http.Server{
		ReadHeaderTimeout: time.Minute, ConnContext: conn.With,
		Handler: s.tracked(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if _, err := s.byRequest(r, ""); err != nil {
				w.WriteHeader(http.StatusTooManyRequests)
			}
		})),
	}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	for _, tc := range []struct {
		id   uint64
		want int
	}{{17, 200}, {17, 200}, {17, 429}, {18, 200}} {
		transport := &http.Transport{}
		t.Cleanup(transport.CloseIdleConnections)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+l.Addr().String(), http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+tokens.text(tc.id))
		resp, err := transport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		if resp.StatusCode != tc.want {
			t.Errorf("token %d: %d, want %d", tc.id, resp.StatusCode, tc.want)
		}
	}
}

// accepted returns a connection with one of the slots, and the context of its gRPC calls.
func accepted(t *testing.T, slots *slots.Budget, peerIs *trust.Principal) (*conn.Conn, context.Context) {
	t.Helper()
	near, far := net.Pipe()
	pipes := &pipeListener{conns: make(chan net.Conn, 1)}
	pipes.conns <- near
	nc, err := conn.Listen(pipes, slots, nil).Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = nc.Close(), far.Close() })
	return nc.(*conn.Conn), peer.NewContext(t.Context(), &peer.Peer{Addr: nc.RemoteAddr(), AuthInfo: connection{principal: peerIs}})
}

// A connection is idle from the end of its last request. The connections of members and administrators never make way.
func TestSlotOfIdleConnection(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		all := slots.New(3, 3)
		take := func(p *trust.Principal) *conn.Conn {
			c, _ := accepted(t, all, nil)
			if err := c.Keep(p); err != nil {
				t.Fatal(err)
			}
			return c
		}
		free := func() bool {
			time.Sleep(time.Second) // idle connections are checked at most once per second
			place, ok := all.Take(nil, func() {})
			if ok {
				place.Release()
			}
			return ok
		}
		take(trust.Member("m1"))
		take(trust.Admin())
		c := take(trust.Open())
		c.Begin()
		c.Begin()
		time.Sleep(2 * slots.IdleLimit)
		c.End()
		if got := c.Idle(); got != 0 || free() {
			t.Errorf("Idle() = %v during a request", got)
		}
		c.End()
		time.Sleep(slots.IdleLimit - 2*time.Second)
		if free() {
			t.Error("the connection makes way before it is idle for a minute")
		}
		if time.Sleep(time.Second); !free() {
			t.Error("the idle connection does not make way")
		}
	})
}

// revocable is a table whose tokens can be revoked.
type revocable struct {
	oneSecret
	revoked *atomic.Bool
}

func (r revocable) TokenRevision() uint64 {
	if r.revoked.Load() {
		return 2
	}
	return 1
}

func (r revocable) Token(id uint64) (*trust.Record, bool) {
	if r.revoked.Load() {
		return nil, false
	}
	return r.oneSecret.Token(id)
}

// Calls refused because of a revoked token do not keep the slot of the token's connection.
func TestRefusedCallsDoNotKeepTheSlot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		table := revocable{oneSecret{secret: trust.NewTokenSecret()}, new(atomic.Bool)}
		s := New(Config{State: prometheus.NewGauge(prometheus.GaugeOpts{Name: "none"}), Auth: &Auth{Tokens: trust.NewAuthorizer(table)}, Logger: slog.New(slog.DiscardHandler)})
		g := s.newGRPC()
		defer g.Stop()
		c, ctx := accepted(t, slots.New(1, 1), nil)
		ctx = metadata.NewIncomingContext(ctx, metadata.Pairs("authorization", "Bearer "+table.text(17)))
		request := httptest.NewRequestWithContext(conn.With(t.Context(), c), http.MethodGet, "/", http.NoBody)
		request.Header.Set("Authorization", "Bearer "+table.text(17))
		calls := map[string]func(){
			"unary": func() {
				info := &grpc.UnaryServerInfo{FullMethod: snowraftv1.ClusterService_GetStatus_FullMethodName}
				_, _ = s.unary(c.BeginCall(ctx, 0), &snowraftv1.GetStatusRequest{}, info, func(context.Context, any) (any, error) {
					return &snowraftv1.GetStatusResponse{}, nil
				})
			},
			"HTTP": func() {
				s.tracked(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = s.byRequest(r, "") })).ServeHTTP(httptest.NewRecorder(), request)
			},
		}
		for _, gone := range []bool{false, true} {
			table.revoked.Store(gone)
			for name, call := range calls {
				time.Sleep(time.Second)
				if call(); (c.Idle() > 0) != gone {
					t.Errorf("%s, token gone %v: idle for %v", name, gone, c.Idle())
				}
			}
		}
	})
}

// The connection of a member that forwards calls of many tokens counts as none of these tokens'.
func TestForwardedCallsHaveNoShare(t *testing.T) {
	t.Parallel()
	table := oneSecret{secret: trust.NewTokenSecret()}
	p, err := trust.NewAuthorizer(table).Authenticate(t.Context(), table.text(17))
	if err != nil {
		t.Fatal(err)
	}
	all := slots.New(4, 4)
	for range 3 {
		_, ctx := accepted(t, all, trust.Member("m1"))
		if err := (&Server{auth: &Auth{Uses: new(trust.Uses)}}).keep(ctx, p); err != nil {
			t.Error(err)
		}
	}
}
