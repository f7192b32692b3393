package client_test

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/snowraft/snowraft/client"
	"github.com/snowraft/snowraft/cluster"
	"github.com/snowraft/snowraft/internal/clock"
	"github.com/snowraft/snowraft/internal/test/testlog"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server"
	"github.com/snowraft/snowraft/server/frontend"
)

// quick has short times for what a member waits for, but a heartbeat and a leader's lease that outlast pauses of a busy
// machine. A new cluster elects its leader without a wait for a heartbeat.
var quick = cluster.Timing{
	Heartbeat:   2 * time.Second,
	GossipProbe: 100 * time.Millisecond, Reconcile: 100 * time.Millisecond,
	PromoteAfter: 300 * time.Millisecond, Rejoin: time.Second,
}

// openServer starts a member. While another process or test has one of its ports, it tries again.
func openServer(t testing.TB, cfg server.Config) (s *server.Server, err error) {
	t.Helper()
	eventually(t, "its ports are free", func() bool {
		s, err = server.Open(context.Background(), cfg)
		return err == nil || !strings.Contains(err.Error(), syscall.EADDRINUSE.Error()) // memberlist does not wrap it
	})
	return s, err
}

// host is a cluster member in this process that grants workers: real ports, real files.
type host struct {
	t      testing.TB
	cfg    server.Config
	server *server.Server
}

// startHosts starts members that bootstrap together, and waits until all members issue.
func startHosts(t testing.TB, size int, change ...func(*server.Config)) []*host {
	t.Helper()
	needsBubble(t, size)
	var hosts []*host
	for i := range size {
		h := &host{t: t, cfg: server.Config{
			Name: fmt.Sprintf("m%d", i+1), DataDir: filepath.Join(t.TempDir(), "data"),
			APIAddr: "127.0.0.1:0", HTTPAddr: "127.0.0.1:0", RaftAddr: "127.0.0.1:0", GossipAddr: "127.0.0.1:0",
			BootstrapExpect: size, Version: "test",
			Logger: slog.New(slog.NewTextHandler(testlog.Of(t), &slog.HandlerOptions{Level: slog.LevelWarn})),
			Timing: quick, Network: networkOf(t),
		}}
		for _, c := range change {
			c(&h.cfg)
		}
		if i > 0 {
			h.cfg.Join = []string{hosts[0].server.GossipAddr()}
		}
		h.start()
		hosts = append(hosts, h)
	}
	for _, h := range hosts {
		eventually(t, h.cfg.Name+" issues IDs", func() bool { return h.server.Ready() == nil })
	}
	return hosts
}

func (h *host) start() {
	h.t.Helper()
	s, err := openServer(h.t, h.cfg)
	if err != nil {
		h.t.Fatal(err)
	}
	h.server = s
	// The next start uses the same ports.
	h.cfg.APIAddr, h.cfg.HTTPAddr, h.cfg.RaftAddr, h.cfg.GossipAddr = s.APIAddr(), s.HTTPAddr(), s.RaftAddr(), s.GossipAddr()
	h.t.Cleanup(func() { h.end(0) }) // a clean stop of the last members would wait for a quorum
}

// end stops the member within a time. If the time is 0, the member releases nothing, as in a crash.
func (h *host) end(within time.Duration) {
	if h.server == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	_ = h.server.Close(ctx)
	h.server = nil
}

func apis(hosts ...*host) (addrs []string) {
	for _, h := range hosts {
		addrs = append(addrs, h.cfg.APIAddr)
	}
	return addrs
}

// connect returns a connection for calls that the client does not offer.
func (h *host) connect() *grpc.ClientConn {
	h.t.Helper()
	conn, err := grpc.NewClient("passthrough:///"+h.cfg.APIAddr,
		append(frontend.DialOptions(networkOf(h.t)), grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// narrow creates a layout with few worker bits.
func (h *host) narrow(name string, workerBits uint32) string {
	h.t.Helper()
	_, err := snowraftv1.NewLayoutServiceClient(h.connect()).CreateLayout(context.Background(), &snowraftv1.CreateLayoutRequest{Layout: &snowraftv1.Layout{
		Name: name, UnitMs: 1, EpochAtMs: time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli(),
		Fields: []*snowraftv1.Field{
			{Kind: snowraftv1.FieldKind_FIELD_KIND_TIME, Bits: 41},
			{Kind: snowraftv1.FieldKind_FIELD_KIND_WORKER, Bits: workerBits},
			{Kind: snowraftv1.FieldKind_FIELD_KIND_SEQUENCE, Bits: 10},
		},
	}})
	if err != nil {
		h.t.Fatal(err)
	}
	return name
}

// granted returns the workers of a layout that were ever granted.
func (h *host) granted(layout string) (all []*snowraftv1.WorkerGrant) {
	h.t.Helper()
	workers := snowraftv1.NewWorkerServiceClient(h.connect())
	for token := ""; ; {
		page, err := workers.ListWorkers(context.Background(), &snowraftv1.ListWorkersRequest{Layout: layout, PageSize: 1000, PageToken: token})
		if err != nil {
			h.t.Fatal(err)
		}
		all = append(all, page.GetWorkers()...)
		if token = page.GetNextPageToken(); token == "" {
			return all
		}
	}
}

// newApplication returns a client as another process would create it. Its timeout only bounds a hang.
func newApplication(t testing.TB, addrs []string, opts ...client.Option) *client.Client {
	t.Helper()
	c, err := client.New(addrs, append([]client.Option{
		client.WithTimeout(client.Patience), client.WithDialOptions(frontend.DialOptions(networkOf(t))...),
	}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// embed returns a generator that is closed at the end of the test.
func embed(t testing.TB, c *client.Client, opts ...client.GeneratorOption) *client.Generator {
	t.Helper()
	g, err := client.NewGenerator(c, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond) // members may have stopped before
		defer cancel()
		_ = g.Close(ctx)
	})
	return g
}

// handClock is the machine's clock with an offset that a test sets, or a clock that a test stopped.
type handClock struct {
	read    clock.Source
	skew    atomic.Int64 // ms
	stopped atomic.Pointer[clock.Reading]
}

func newHandClock() *handClock { return &handClock{read: clock.System()} }

func (h *handClock) set(by time.Duration) { h.skew.Store(by.Milliseconds()) }

func (h *handClock) stop() { h.stopped.Store(new(h.read())) }

func (h *handClock) option() client.GeneratorOption {
	return client.WithGeneratorClock(func() clock.Reading {
		r := h.read()
		if at := h.stopped.Load(); at != nil {
			r = *at
		}
		r.Wall += h.skew.Load()
		return r
	})
}

// issued fails the test if an ID comes twice.
type issued struct {
	mu sync.Mutex
	by map[int64]string
}

func (i *issued) add(t testing.TB, by string, ids ...int64) {
	t.Helper()
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.by == nil {
		i.by = make(map[int64]string)
	}
	for _, id := range ids {
		if before, twice := i.by[id]; twice {
			t.Fatalf("ID %d twice: from %s and from %s", id, before, by)
		}
		i.by[id] = by
	}
}

// eventually waits until a condition is true.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(client.Patience)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", client.Patience, what)
		}
		<-tick.C
	}
}
