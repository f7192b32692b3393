package server_test

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/snowraft/snowraft/cluster"
	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/internal/clock"
	"github.com/snowraft/snowraft/internal/rpc"
	"github.com/snowraft/snowraft/internal/test/testlog"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server"
)

// quick has short times for what a member waits for, but a heartbeat and a leader's lease that outlast pauses of a busy
// machine. A new cluster elects its leader without a wait for a heartbeat. Tests of elections set their own times.
var quick = cluster.Timing{
	Heartbeat:    2 * time.Second,
	GossipProbe:  100 * time.Millisecond,
	Reconcile:    100 * time.Millisecond,
	PromoteAfter: 300 * time.Millisecond,
	Rejoin:       time.Second,
}

// node is one member of a test cluster: real ports, real files, a clock that
// the test sets, and connections to all of its services.
type node struct {
	t      testing.TB
	cfg    server.Config
	skew   *atomic.Int64 // ms
	server *server.Server
	conn   *grpc.ClientConn

	ids     snowraftv1.IdServiceClient
	layouts snowraftv1.LayoutServiceClient
	workers snowraftv1.WorkerServiceClient
	cluster snowraftv1.ClusterServiceClient

	sequences snowraftv1.SequenceServiceClient
}

// newNode describes a member and does not start it.
func newNode(t testing.TB, name string, change ...func(*server.Config)) *node {
	n := &node{t: t, skew: new(atomic.Int64)}
	system := clock.System()
	n.cfg = server.Config{
		Name: name, DataDir: filepath.Join(t.TempDir(), name),
		APIAddr: "127.0.0.1:0", HTTPAddr: "127.0.0.1:0", RaftAddr: "127.0.0.1:0", GossipAddr: "127.0.0.1:0",
		Logger: slog.New(slog.NewTextHandler(testlog.Of(t), &slog.HandlerOptions{Level: slog.LevelInfo})),
		Timing: quick, Version: "test", Network: networkOf(t),
		Clock: func() clock.Reading {
			r := system()
			r.Wall += n.skew.Load()
			return r
		},
	}
	for _, c := range change {
		c(&n.cfg)
	}
	return n
}

func (n *node) start() *node {
	n.t.Helper()
	var s *server.Server
	var err error
	until(n.t, "no other test has the ports of "+n.cfg.Name, func() bool {
		s, err = server.Open(n.t.Context(), n.cfg)
		return err == nil || !strings.Contains(err.Error(), syscall.EADDRINUSE.Error()) // memberlist does not wrap it
	})
	if err != nil {
		n.t.Fatalf("start %s: %v", n.cfg.Name, err)
	}
	n.server = s
	crew.add(n)
	n.conn = connect(n.t, s.APIAddr(), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.WaitForReady(true)))
	n.ids = snowraftv1.NewIdServiceClient(n.conn)
	n.layouts = snowraftv1.NewLayoutServiceClient(n.conn)
	n.workers = snowraftv1.NewWorkerServiceClient(n.conn)
	n.cluster = snowraftv1.NewClusterServiceClient(n.conn)
	n.sequences = snowraftv1.NewSequenceServiceClient(n.conn)
	return n
}

func (n *node) stop() {
	if n.server == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_ = n.conn.Close()
	_ = n.server.Close(ctx)
	n.server = nil
}

// crash stops the member without a return of blocks, a release of workers or a transfer of leadership.
func (n *node) crash() {
	settle(n.t)
	n.abandon()
}

// settle waits in synthetic time until all goroutines wait. Raft leaves a future without an answer if it shuts down between a commit
// and the state machine; its caller would outlive the bubble, which is an error.
func settle(t testing.TB) {
	if networkOf(t) != nil {
		synctest.Wait()
	}
}

func (n *node) abandon() {
	if n.server == nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = n.conn.Close()
	_ = n.server.Close(ctx)
	n.server = nil
}

// crews holds the running members of each test. The end of a test crashes all its members at once: graceful stops in turn
// would wait for the gossip of each member, and the last one for a quorum.
type crews struct {
	mu sync.Mutex
	of map[testing.TB][]*node
}

var crew = crews{of: make(map[testing.TB][]*node)}

func (c *crews) add(n *node) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !slices.Contains(c.of[n.t], n) {
		c.of[n.t] = append(c.of[n.t], n)
		n.t.Cleanup(func() { c.crash(n.t) })
	}
}

func (c *crews) crash(t testing.TB) {
	c.mu.Lock()
	nodes := c.of[t]
	delete(c.of, t)
	c.mu.Unlock()
	settle(t)
	var wg sync.WaitGroup
	for _, n := range nodes {
		wg.Go(n.abandon)
	}
	wg.Wait()
}

// setClock moves the wall clock, not the monotonic one.
func (n *node) setClock(by time.Duration) { n.skew.Store(by.Milliseconds()) }

func (n *node) leads() bool { return n.server.Member().Node().IsLeader() }

// startCluster starts size members that bootstrap together and waits until all issue. Several members of a test run in synthetic
// time, because a busy machine takes them apart in real time.
func startCluster(t testing.TB, size int, change ...func(*server.Config)) []*node {
	t.Helper()
	if _, test := t.(*testing.T); test && size > 1 && networkOf(t) == nil {
		t.Fatal("a cluster of several members in real time; use inBubble")
	}
	var nodes []*node
	var seeds []string
	for i := range size {
		n := newNode(t, fmt.Sprintf("m%d", i+1), change...)
		n.cfg.BootstrapExpect, n.cfg.Join = size, seeds
		if size == 1 {
			n.cfg.Join = nil
		}
		n.start()
		seeds = append(seeds, n.server.GossipAddr())
		nodes = append(nodes, n)
	}
	for _, n := range nodes {
		n.untilReady()
	}
	return nodes
}

// join starts a new member that joins nodes.
func join(t testing.TB, name string, nodes []*node, change ...func(*server.Config)) *node {
	n := newNode(t, name, change...)
	for _, o := range nodes {
		n.cfg.Join = append(n.cfg.Join, o.server.GossipAddr())
	}
	return n.start()
}

// patience only bounds a hang: it is many times what a test needs on a busy machine.
const patience = 2 * time.Minute

// until polls for a condition.
func until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", patience, what)
		}
		<-tick.C
	}
}

func (n *node) untilReady() {
	n.t.Helper()
	until(n.t, n.cfg.Name+" issues IDs", func() bool { return n.server.Ready() == nil })
}

// untilNewest waits until the cluster accepts all commands that its members know. Its leader raises the version after it is ready.
func (n *node) untilNewest() {
	n.t.Helper()
	until(n.t, n.cfg.Name+" accepts the newest commands", func() (newest bool) {
		n.server.Member().State().View(func(s *fsm.State) { newest = s.FSMVersion() == fsm.Version })
		return newest
	})
}

// untilApplied waits until n has applied all that any of the nodes has applied now.
func (n *node) untilApplied(nodes []*node) {
	n.t.Helper()
	var index uint64
	for _, o := range nodes {
		index = max(index, o.server.Member().State().Applied())
	}
	until(n.t, n.cfg.Name+" has applied the log", func() bool { return n.server.Member().State().Applied() >= index })
}

func leader(t testing.TB, nodes []*node) *node {
	t.Helper()
	var found *node
	until(t, "there is a leader", func() bool {
		i := slices.IndexFunc(nodes, func(n *node) bool { return n.server != nil && n.leads() })
		if i >= 0 {
			found = nodes[i]
		}
		return i >= 0
	})
	return found
}

// except lists the nodes that are not among the given nodes.
func except(nodes []*node, these ...*node) []*node {
	return slices.DeleteFunc(slices.Clone(nodes), func(n *node) bool { return slices.Contains(these, n) })
}

func follower(t testing.TB, nodes []*node) *node {
	t.Helper()
	l := leader(t, nodes)
	for _, n := range nodes {
		if n != l && n.server != nil {
			return n
		}
	}
	t.Fatal("no follower")
	return nil
}

// generate requests IDs and expands the answer.
func (n *node) generate(count uint32, after int64) ([]int64, error) {
	ctx, cancel := context.WithTimeout(n.t.Context(), patience)
	defer cancel()
	resp, err := n.ids.GenerateIds(ctx, &snowraftv1.GenerateIdsRequest{Count: count, After: after})
	if err != nil {
		return nil, err
	}
	return expand(resp), nil
}

func expand(resp *snowraftv1.GenerateIdsResponse) []int64 {
	var ids []int64
	for _, r := range resp.GetRanges() {
		for i := range int64(r.GetCount()) {
			ids = append(ids, r.GetFirst()+i*r.GetStep())
		}
	}
	return ids
}

func (n *node) mustGenerate(count uint32) []int64 {
	n.t.Helper()
	ids, err := n.generate(count, 0)
	if err != nil {
		n.t.Fatalf("%s: %v", n.cfg.Name, err)
	}
	if len(ids) != int(count) {
		n.t.Fatalf("%s: %d IDs instead of %d", n.cfg.Name, len(ids), count)
	}
	return ids
}

// reason returns the machine-readable reason of an error.
func reason(err error) string { return rpc.FromError(err).Reason }

func (n *node) members() []*snowraftv1.Member {
	n.t.Helper()
	resp, err := n.cluster.ListMembers(n.t.Context(), &snowraftv1.ListMembersRequest{})
	if err != nil {
		n.t.Fatal(err)
	}
	return resp.GetMembers()
}

func (n *node) status() *snowraftv1.GetStatusResponse {
	n.t.Helper()
	resp, err := n.cluster.GetStatus(n.t.Context(), &snowraftv1.GetStatusRequest{})
	if err != nil {
		n.t.Fatal(err)
	}
	return resp
}

// seen fails the test when an ID comes twice.
type seen map[int64]string

func (s seen) add(t *testing.T, from string, ids ...int64) {
	t.Helper()
	for _, id := range ids {
		if before, twice := s[id]; twice {
			t.Fatalf("ID %d twice: from %s and from %s", id, before, from)
		}
		s[id] = from
	}
}
