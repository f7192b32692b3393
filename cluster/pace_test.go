package cluster

import (
	"testing"

	"github.com/hashicorp/raft"
)

func TestLogGrowsWithTheState(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		size                int64
		threshold, trailing uint64
	}{
		{0, 4096, 2048},
		{2<<20 - 1, 4096, 2048},
		{2 << 20, 8192, 4096},
		{8_500_000, 8 * 4096, 8 * 2048},
		{16 << 20, 65_536, 32_768},
		{1 << 40, 65_536, 32_768},
	} {
		if threshold, trailing := (Timing{}).withDefaults().logFor(c.size); threshold != c.threshold || trailing != c.trailing {
			t.Errorf("logFor(%d) = %d, %d, want %d, %d", c.size, threshold, trailing, c.threshold, c.trailing)
		}
	}
}

// large is a store of snapshots whose size the test sets.
type large struct {
	emptyFSM
	size *int
}

func (l large) Snapshot() (raft.FSMSnapshot, error) { return largeSnapshot{size: *l.size}, nil }

type largeSnapshot struct {
	emptySnapshot
	size int
}

func (s largeSnapshot) Persist(sink raft.SnapshotSink) error {
	if _, err := sink.Write(make([]byte, s.size)); err != nil {
		return err
	}
	return sink.Close()
}

// The length of a node's log follows the size of each snapshot that the node writes, and at its start the size of the newest.
func TestSnapshotsPaceTheLog(t *testing.T) {
	t.Parallel()
	mem, size := raft.NewInmemStore(), 0
	n := openAlone(t, mem, mem, func(c *Config) { c.FSM = large{size: &size} })
	t.Cleanup(closing(n))
	untilLeader(t, n)
	want := func(units uint64) {
		t.Helper()
		if c := n.raft.ReloadableConfig(); c.SnapshotThreshold != units*4096 || c.TrailingLogs != units*trailingLogs {
			t.Errorf("after %d bytes a snapshot is taken every %d entries and %d stay, want %d times the defaults", size, c.SnapshotThreshold, c.TrailingLogs, units)
		}
	}
	want(1)
	for _, units := range []uint64{3, 1, 16} {
		size = int(units) * stateUnit
		if _, err := n.Propose(t.Context(), []byte("x")); err != nil {
			t.Fatal(err)
		}
		if err := n.Snapshot(); err != nil {
			t.Fatal(err)
		}
		want(units)
	}
	if got := (&observedSnapshots{SnapshotStore: n.store.Snapshots}).newest(); got != 16*stateUnit {
		t.Errorf("newest() = %d, want %d", got, 16*stateUnit)
	}
}
