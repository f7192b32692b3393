package cluster

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"

	"github.com/snowraft/snowraft/cluster/logging"
)

// leading returns the only voter of an in-memory cluster, which was elected.
func leading(t *testing.T) *raft.Raft {
	t.Helper()
	mem, snapshots := raft.NewInmemStore(), raft.NewInmemSnapshotStore()
	_, trans := raft.NewInmemTransport("")
	cfg := Config{Timing: Timing{}.withDefaults()}
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
	return r
}

// Raft takes no barrier while it waits for follow to take a notification. The only voter can be elected twice in a row.
func TestBeginDoesNotKeepFollowFromNotifications(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := leading(t)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		began := time.Now()
		if err := (&Node{raft: r}).commitFirstCommand(ctx); !errors.Is(err, context.Canceled) || time.Since(began) > 0 {
			t.Errorf("begin() = %v after %v, want %v at once", err, time.Since(began), context.Canceled)
		}
	})
}
