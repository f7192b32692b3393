package cluster

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/snowraft/snowraft/cluster/logging"
)

// Raft takes no barrier while it waits for follow to take a notification. The only voter can be elected twice in a row.
func TestBarrierDoesNotKeepFollowFromNotifications(t *testing.T) {
	t.Parallel()
	mem, snapshots := raft.NewInmemStore(), raft.NewInmemSnapshotStore()
	_, trans := raft.NewInmemTransport("")
	cfg := Config{Timing: Timing{Heartbeat: 50 * time.Millisecond}.withDefaults()}
	rc := cfg.raftConfig("a", make(chan bool), logging.Hashicorp(slog.New(slog.DiscardHandler), "raft", nil)) // no goroutine receives
	only := raft.Configuration{Servers: []raft.Server{{ID: "a", Address: trans.LocalAddr()}}}
	if err := raft.BootstrapCluster(rc, mem, mem, snapshots, trans, only); err != nil {
		t.Fatal(err)
	}
	r, err := raft.NewRaft(rc, emptyFSM{}, mem, mem, snapshots, trans)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Shutdown().Error() })
	<-r.LeaderCh()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	ended := make(chan error, 1)
	go func() { ended <- (&Node{raft: r}).barrier(ctx) }()
	select {
	case err := <-ended:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("barrier() = %v, want %v", err, context.Canceled)
		}
	case <-time.After(10 * time.Second):
		t.Error("barrier() waits although its context ended")
	}
}
