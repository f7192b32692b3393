package client

import (
	"context"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// fakes is a cluster of members that answer as the test sets.
type fakes struct {
	t       testing.TB
	network *memory      // nil: TCP
	last    atomic.Int64 // last ID issued by any member

	mu      sync.Mutex
	members []*fake
}

// fake is one member of fakes.
type fake struct {
	snowraftv1.UnimplementedIdServiceServer
	snowraftv1.UnimplementedClusterServiceServer
	of     *fakes
	addr   string
	server *grpc.Server
	health *health.Server
	conns  *connections
	asked  atomic.Int64 // calls for IDs
	answer atomic.Pointer[answering]

	streams, deaf atomic.Bool  // streams: it serves streams; deaf: it reads nothing from them
	carried       atomic.Int64 // requests on streams
	carriers      carriers
	numbers       numbersOfFake
}

// answering is a function that a member calls instead of issuing IDs.
type answering func(context.Context, *snowraftv1.GenerateIdsRequest) (*snowraftv1.GenerateIdsResponse, error)

// connections is a listener that counts the open connections.
type connections struct {
	net.Listener
	open atomic.Int64
	all  atomic.Int64

	pausing sync.Mutex
	paused  chan struct{} // closed at the end of the pause; nil: there is none
}

type counted struct {
	net.Conn
	of   *connections
	once sync.Once
}

func (l *connections) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.open.Add(1)
	l.all.Add(1)
	return &counted{Conn: c, of: l}, nil
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.of.pausing.Lock()
	paused := c.of.paused
	c.of.pausing.Unlock()
	if paused != nil {
		<-paused
	}
	return n, err
}

// pause stops all reading of a member, as SIGSTOP would, until the returned function is called.
func (l *connections) pause() (end func()) {
	l.pausing.Lock()
	defer l.pausing.Unlock()
	paused := make(chan struct{})
	l.paused = paused
	return func() {
		l.pausing.Lock()
		defer l.pausing.Unlock()
		l.paused = nil
		close(paused)
	}
}

func (c *counted) Close() error {
	c.once.Do(func() { c.of.open.Add(-1) })
	return c.Conn.Close()
}

// startFakes starts members in memory, for a test in a bubble of synthetic time.
func startFakes(t testing.TB, n int) *fakes {
	return (&fakes{t: t, network: new(memory)}).start(n)
}

// startFakesOnTCP starts members with sockets, for tests of addresses, TLS and speed. In a bubble with these members, time stands
// still: what reads from a socket is not idle.
func startFakesOnTCP(t testing.TB, n int) *fakes {
	return (&fakes{t: t}).start(n)
}

func (f *fakes) start(n int) *fakes {
	f.last.Store(1000)
	for range n {
		f.add("127.0.0.1:0")
	}
	return f
}

func (f *fakes) listen(addr string) (net.Listener, string) {
	f.t.Helper()
	if f.network != nil {
		return f.network.listen(addr)
	}
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		f.t.Fatal(err)
	}
	return listener, listener.Addr().String()
}

// add starts a member. All members advertise it from now on.
func (f *fakes) add(addr string, opts ...grpc.ServerOption) *fake {
	f.t.Helper()
	listener, addr := f.listen(addr)
	m := &fake{of: f, addr: addr, server: grpc.NewServer(opts...), health: health.NewServer(), conns: &connections{Listener: listener}}
	m.numbers.of = m
	snowraftv1.RegisterIdServiceServer(m.server, m)
	snowraftv1.RegisterClusterServiceServer(m.server, m)
	snowraftv1.RegisterSequenceServiceServer(m.server, &m.numbers)
	grpc_health_v1.RegisterHealthServer(m.server, m.health)
	m.serving(true)
	m.health.SetServingStatus(snowraftv1.ClusterService_ServiceDesc.ServiceName, grpc_health_v1.HealthCheckResponse_SERVING)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = m.server.Serve(m.conns)
	}()
	f.t.Cleanup(func() {
		m.server.Stop()
		<-done
	})
	f.mu.Lock()
	defer f.mu.Unlock()
	f.members = append(f.members, m)
	return m
}

// silent returns the address of an endpoint that accepts connections and never answers.
func (f *fakes) silent() string {
	f.t.Helper()
	l, addr := f.listen("127.0.0.1:0")
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			defer conn.Close()
		}
	}()
	f.t.Cleanup(func() {
		_ = l.Close()
		<-done
	})
	return addr
}

// remove stops the members from advertising a member. The member still runs.
func (f *fakes) remove(m *fake) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.members = slices.DeleteFunc(f.members, func(o *fake) bool { return o == m })
}

func (f *fakes) addrs() (addrs []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, m := range f.members {
		addrs = append(addrs, m.addr)
	}
	return addrs
}

// client returns a client that is closed at the end of the test.
func (f *fakes) client(addrs []string, opts ...Option) *Client {
	f.t.Helper()
	if f.network != nil {
		opts = append([]Option{WithDialOptions(grpc.WithContextDialer(f.network.dial))}, opts...)
	}
	c, err := New(addrs, opts...)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() {
		if err := c.Close(); err != nil {
			f.t.Error(err)
		}
	})
	return c
}

// warm waits until the client is connected to all members, and returns the number of its calls.
func (f *fakes) warm(c *Client) (calls int64) {
	f.t.Helper()
	for _, m := range f.members {
		until(f.t, "the client calls "+m.addr, func() bool {
			calls++
			if _, err := c.NextID(f.t.Context()); err != nil {
				f.t.Fatal(err)
			}
			return m.asked.Load() > 0
		})
	}
	for _, m := range f.members {
		m.asked.Store(0)
	}
	return calls
}

// serving sets whether the member reports that it can issue IDs.
func (m *fake) serving(yes bool) {
	s := grpc_health_v1.HealthCheckResponse_NOT_SERVING
	if yes {
		s = grpc_health_v1.HealthCheckResponse_SERVING
	}
	m.health.SetServingStatus(snowraftv1.IdService_ServiceDesc.ServiceName, s)
}

// does sets the function that the member calls instead of issuing IDs; nil: it issues IDs.
func (m *fake) does(a answering) {
	if a == nil {
		m.answer.Store(nil)
		return
	}
	m.answer.Store(&a)
}

// refuses makes the member refuse all requests for IDs.
func (m *fake) refuses(code codes.Code, reason string, retryAfter time.Duration) {
	m.does(func(context.Context, *snowraftv1.GenerateIdsRequest) (*snowraftv1.GenerateIdsResponse, error) {
		if reason == "" {
			return nil, status.Error(code, "refused by the test")
		}
		return nil, &rpc.Error{Code: code, Reason: reason, Message: "refused by the test", RetryAfter: retryAfter}
	})
}

// hangs makes the member answer nothing.
func (m *fake) hangs() {
	m.does(func(ctx context.Context, _ *snowraftv1.GenerateIdsRequest) (*snowraftv1.GenerateIdsResponse, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
}

func (m *fake) GenerateIds(ctx context.Context, req *snowraftv1.GenerateIdsRequest) (*snowraftv1.GenerateIdsResponse, error) {
	m.asked.Add(1)
	if a := m.answer.Load(); a != nil {
		return (*a)(ctx, req)
	}
	return m.issue(req), nil
}

// issue issues IDs in two ranges if possible, the greater IDs first.
func (m *fake) issue(req *snowraftv1.GenerateIdsRequest) *snowraftv1.GenerateIdsResponse {
	raise(&m.of.last, req.GetAfter())
	count := int64(max(req.GetCount(), 1))
	first := m.of.last.Add(count) - count + 1
	half := count / 2
	resp := &snowraftv1.GenerateIdsResponse{Ranges: []*snowraftv1.IdRange{{First: first + half, Count: uint32(count - half), Step: 1}}}
	if half > 0 {
		resp.Ranges = append(resp.Ranges, &snowraftv1.IdRange{First: first, Count: uint32(half), Step: 1})
	}
	return resp
}

func (m *fake) ListMembers(context.Context, *snowraftv1.ListMembersRequest) (*snowraftv1.ListMembersResponse, error) {
	resp := &snowraftv1.ListMembersResponse{}
	for _, addr := range m.of.addrs() {
		resp.Members = append(resp.Members, &snowraftv1.Member{ApiAddress: addr})
	}
	return resp, nil
}

// slowly returns a function that issues IDs after a delay.
func slowly(m *fake, d time.Duration) answering {
	return func(ctx context.Context, req *snowraftv1.GenerateIdsRequest) (*snowraftv1.GenerateIdsResponse, error) {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
			return m.issue(req), nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
