package member

import (
	"io/fs"
	"log/slog"
	"net"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/memberlist"

	"github.com/snowraft/snowraft/cluster"
)

// BenchmarkCommands commits commands on one member with real files, and shows
// what is on disk afterwards: log and snapshots must stay bounded.
//
//	go test ./internal/member -run '^$' -bench Commands -benchtime 100000x
func BenchmarkCommands(b *testing.B) {
	m := openOne(b)
	var left atomic.Int64
	left.Store(int64(b.N))
	var wg sync.WaitGroup
	b.ResetTimer()
	for range 64 {
		wg.Go(func() {
			for left.Add(-1) >= 0 {
				if _, err := m.ObserveClock(b.Context(), false); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	if err := m.node.Snapshot(); err != nil {
		b.Log(err)
	}
	var total int64
	err := filepath.WalkDir(m.cfg.Cluster.DataDir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			total += info.Size()
		}
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(total)/(1<<20), "MiB-on-disk")
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "commands/s")
}

// openOne opens a member that is a cluster of its own.
func openOne(tb testing.TB, changes ...func(*Config)) *Member {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	gossip, err := memberlist.NewNetTransport(&memberlist.NetTransportConfig{
		BindAddrs: []string{"127.0.0.1"}, Logger: slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug),
	})
	if err != nil {
		tb.Fatal(err)
	}
	cfg := Config{
		Cluster: cluster.Config{
			Name: "a", DataDir: tb.TempDir(), RaftListener: l, RaftAddress: l.Addr().String(),
			Gossip: gossip, GossipHost: "127.0.0.1", GossipPort: gossip.GetAutoBindPort(), BootstrapExpect: 1,
		},
		Logger: slog.New(slog.DiscardHandler),
	}
	for _, change := range changes {
		change(&cfg)
	}
	m, err := Open(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = m.Close(tb.Context()) })
	for deadline := time.Now().Add(2 * time.Minute); m.Ready() != nil; {
		if time.Now().After(deadline) {
			tb.Fatal(m.Ready())
		}
		changed := m.fsm.Changed()
		select {
		case <-changed:
		case <-time.After(10 * time.Millisecond):
		}
	}
	return m
}
