package simtest

import (
	"testing"
	"time"

	"github.com/snowraft/snowraft/cluster"
	"github.com/snowraft/snowraft/internal/test/depth"
)

// eager takes snapshots often.
var eager = cluster.Timing{SnapshotThreshold: 64}

// commit makes the leader commit a number of commands.
func (w *world) commit(commands int) {
	w.Helper()
	for done := 0; done < commands; {
		if _, err := w.leader().proc().member.ObserveClock(w.Context(), false); err == nil {
			done++
			continue
		}
		w.pass(50 * time.Millisecond)
	}
}

func TestRestartFromSnapshots(t *testing.T) {
	t.Parallel()
	simulate(t, options{timing: eager}, func(w *world) {
		for range depth.Of(1, 3) {
			w.commit(3000) // more than the log keeps behind a snapshot
			w.pass(time.Minute)
			for _, n := range w.nodes {
				first, _ := n.disk.FirstIndex()
				if len(n.disk.snapshots) == 0 || first == 1 {
					t.Fatalf("%s has %d snapshots, its log begins at %d", n.name, len(n.disk.snapshots), first)
				}
			}
			w.crashAll()
			w.startAll()
			w.untilAllIssue(20 * time.Second)
		}
		// The members also restart one by one, gracefully.
		for _, n := range w.nodes {
			if err := n.stop(); err != nil {
				t.Error(err)
			}
			n.start()
			w.untilAllIssue(recovery)
		}
	})
}

func TestLaggingMemberGetsASnapshot(t *testing.T) {
	t.Parallel()
	simulate(t, options{timing: eager}, func(w *world) {
		for i, down := range []bool{false, true} {
			n := w.follower()
			w.net.part([]*node{n}, w.others(n), raftPlane)
			if down {
				n.crash()
			}
			w.commit(4000)
			w.pass(2 * time.Minute)
			w.net.heal()
			if down {
				n.start()
			}
			w.until(time.Minute, n.name+" got a snapshot", func() bool { return n.installed.Load() > 0 })
			n.installed.Store(0)
			w.untilAllIssue(recovery)
			w.agreed()
			t.Logf("%d: %s caught up", i, n.name)
			w.commit(100)
		}
	})
}
