package cluster

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/snowraft/snowraft/internal/clock"
)

// lockedFSM is a state machine whose lock a test holds.
type lockedFSM struct {
	emptyFSM
	asked chan struct{}
	free  chan struct{}
}

func (l lockedFSM) IsRemoved(string) bool {
	l.asked <- struct{}{}
	<-l.free
	return false
}

func TestNodeBehindALockIsNotAlive(t *testing.T) {
	t.Parallel()
	var later atomic.Int64 // ms
	system := clock.System()
	source := func() clock.Reading {
		now := system()
		return clock.Reading{Wall: now.Wall + later.Load(), Mono: now.Mono + later.Load()}
	}
	locked := lockedFSM{asked: make(chan struct{}), free: make(chan struct{})}
	mem := raft.NewInmemStore()
	n := openAlone(t, mem, mem, func(c *Config) {
		c.BootstrapExpect = 0 // a node without a cluster checks whether it was removed
		c.Removed = locked
		c.Watch = clock.NewWatch(source, nil, clock.Limits{MaxOffset: time.Second})
	})
	<-locked.asked
	if err := n.Alive(); err != nil {
		t.Errorf("Alive() = %v right after a round began", err)
	}
	later.Add((stuckAfter + time.Second).Milliseconds())
	if err := n.Alive(); err == nil {
		t.Error("Alive() = nil behind a lock")
	}
	locked.free <- struct{}{}
	<-locked.asked // the next round
	if err := n.Alive(); err != nil {
		t.Errorf("Alive() = %v after the lock was free", err)
	}
	close(locked.free)
	go func() {
		for range locked.asked { // rounds until the node has closed
		}
	}()
	if err := n.Close(t.Context()); err != nil {
		t.Error(err)
	}
	close(locked.asked)
}
