package cluster

import (
	"context"
	"io"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/memberlist"
	"github.com/hashicorp/raft"

	"github.com/snowraft/snowraft/cluster/logging"
	"github.com/snowraft/snowraft/cluster/storage"
	"github.com/snowraft/snowraft/internal/clock"
	"github.com/snowraft/snowraft/internal/test/clusterkit"
)

// emptyFSM is a state machine without state.
type emptyFSM struct{}

func (emptyFSM) Apply(*raft.Log) any                  { return nil }
func (emptyFSM) Snapshot() (raft.FSMSnapshot, error)  { return emptySnapshot{}, nil }
func (emptyFSM) Restore(r io.ReadCloser) error        { return r.Close() }
func (emptyFSM) IsRemoved(string) bool                { return false }
func (emptyFSM) Remove(context.Context, string) error { return nil }

type emptySnapshot struct{}

func (emptySnapshot) Persist(s raft.SnapshotSink) error { return s.Close() }
func (emptySnapshot) Release()                          {}

// stallingLog is a disk that can hang.
type stallingLog struct {
	raft.LogStore
	hang atomic.Bool
	free chan struct{}
}

func (s *stallingLog) StoreLogs(l []*raft.Log) error {
	if s.hang.Load() {
		<-s.free
	}
	return s.LogStore.StoreLogs(l)
}

func (s *stallingLog) StoreLog(l *raft.Log) error { return s.StoreLogs([]*raft.Log{l}) }

// openAlone opens a node that starts a cluster alone, on this disk. No pause deposes the only voter, however short its heartbeat is.
func openAlone(t *testing.T, logs raft.LogStore, stable raft.StableStore, change ...func(*Config)) *Node {
	t.Helper()
	n, err := tryAlone(t, logs, stable, change...)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func tryAlone(t *testing.T, logs raft.LogStore, stable raft.StableStore, change ...func(*Config)) (*Node, error) {
	t.Helper()
	_, trans := raft.NewInmemTransport("")
	cfg := Config{
		Name: "a", GossipHost: "127.0.0.1", RaftAddress: string(trans.LocalAddr()),
		BootstrapExpect: 1, FSM: emptyFSM{}, Removed: emptyFSM{}, Lead: func(ctx context.Context) { <-ctx.Done() },
		Watch:     clock.NewWatch(clock.System(), nil, clock.Limits{MaxOffset: time.Second}),
		Logger:    slog.New(slog.DiscardHandler),
		Timing:    Timing{Heartbeat: 50 * time.Millisecond, DiskStall: clusterkit.Patience},
		Transport: trans,
		Storage:   &storage.Stores{Logs: logs, Stable: stable, Snapshots: raft.NewInmemSnapshotStore()},
	}
	for _, c := range change {
		c(&cfg)
	}
	if cfg.Gossip == nil {
		gossip, err := memberlist.NewNetTransport(&memberlist.NetTransportConfig{BindAddrs: []string{cfg.GossipHost}, Logger: logging.Standard(slog.New(slog.DiscardHandler), "gossip", nil)})
		if err != nil {
			t.Fatal(err)
		}
		cfg.Gossip, cfg.GossipPort = gossip, gossip.GetAutoBindPort()
	}
	return Open(cfg)
}

func untilLeader(t *testing.T, n *Node) {
	t.Helper()
	deadline := time.After(clusterkit.Patience)
	for {
		changed := n.LeaderChanged()
		if n.IsLeader() {
			return
		}
		select {
		case <-changed:
		case <-deadline:
			t.Fatal("no leader")
		}
	}
}

func TestLeaderWithAStalledDiskStops(t *testing.T) {
	t.Parallel()
	mem := raft.NewInmemStore()
	disk := &stallingLog{LogStore: mem, free: make(chan struct{})}
	n := openAlone(t, disk, mem, func(c *Config) { c.Timing.DiskStall = time.Second })
	untilLeader(t, n)
	if _, err := n.Propose(t.Context(), []byte("x")); err != nil {
		t.Fatal(err)
	}
	disk.hang.Store(true)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { _, _ = n.Propose(ctx, []byte("y")) }()
	select {
	case <-n.Failed():
		if !strings.Contains(n.Failure().Error(), "disk") {
			t.Errorf("stopped with %v", n.Failure())
		}
	case <-time.After(clusterkit.Patience):
		t.Error("a leader whose disk hangs does not halt")
	}
	if _, err := n.Propose(t.Context(), []byte("z")); err == nil {
		t.Error("the node still proposes")
	}
	cancel()
	close(disk.free)
	if err := n.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestStallIsMeasuredByTheMonotonicClock lets the wall clock jump by an hour while the disk writes, and pauses the process for
// 30 s.
func TestStallIsMeasuredByTheMonotonicClock(t *testing.T) {
	t.Parallel()
	const hour = 3_600_000
	var s stall
	for _, c := range []struct {
		write uint64
		now   clock.Reading
		lasts time.Duration
	}{
		{0, clock.Reading{Wall: 0, Mono: 0}, 0},
		{1, clock.Reading{Wall: 10, Mono: 10}, 0},
		{1, clock.Reading{Wall: hour, Mono: 30}, 20 * time.Millisecond},
		{1, clock.Reading{Wall: -hour, Mono: 1010}, time.Second},
		{1, clock.Reading{Wall: -hour, Mono: 31010}, 3 * time.Second},
		{1, clock.Reading{Wall: -hour, Mono: 32010}, 4 * time.Second},
		{3, clock.Reading{Wall: -hour, Mono: 32020}, 0},
		{0, clock.Reading{Wall: -hour, Mono: 32030}, 0},
		{5, clock.Reading{Wall: -hour, Mono: 32040}, 0},
	} {
		if d := s.lasts(c.write, c.now); d != c.lasts {
			t.Errorf("write %d at %+v lasts %v, want %v", c.write, c.now, d, c.lasts)
		}
	}
}
