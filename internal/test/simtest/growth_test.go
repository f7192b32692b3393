package simtest

import (
	"sync"
	"testing"
	"time"

	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/internal/test/depth"
)

// Disks hold a bounded number of entries and two snapshots, regardless of the history.
func TestLogAndSnapshotsStayBounded(t *testing.T) {
	t.Parallel()
	simulate(t, options{idle: true}, func(w *world) {
		total, batch, most := depth.Of(8_000, 100_000), 100, 0
		m := w.leader().proc().member
		for done := 0; done < total; done += batch {
			var running sync.WaitGroup
			for range batch {
				running.Go(func() {
					if _, err := m.ObserveClock(w.Context(), false); err != nil {
						t.Error(err)
					}
				})
			}
			running.Wait()
			w.pass(500 * time.Millisecond) // 200 per second
			entries, _, _ := w.nodes[0].disk.usage()
			most = max(most, entries)
		}
		w.pass(2 * time.Minute)
		for _, n := range w.nodes {
			entries, log, snapshots := n.disk.usage()
			t.Logf("%s after %d commands: %d entries of %d bytes, snapshots of %d bytes", n.name, n.proc().member.Node().CommitIndex(), entries, log, snapshots)
			// The limit includes the entries kept behind a snapshot, and the entries until the next one.
			if entries > 2048+4096 || log > 1<<20 || snapshots > 1<<20 {
				t.Errorf("%s holds %d entries of %d bytes and snapshots of %d bytes, above a limit", n.name, entries, log, snapshots)
			}
		}
		t.Logf("at most %d entries at any time", most)
		if most > 3*4096 {
			t.Errorf("at most %d entries at any time, want at most %d", most, 3*4096)
		}
	})
}

// The number of remembered grants is bounded, and so is the size of snapshots.
func TestSnapshotOfManyGrantsStaysBounded(t *testing.T) {
	t.Parallel()
	simulate(t, options{idle: true}, func(w *world) {
		const total, batch = 12_000, 200
		p := w.leader()
		for done := 0; done < total; done += batch {
			var running sync.WaitGroup
			for i := range batch {
				running.Go(func() {
					if a := w.acquire(p, string(rune('a'+i%26))+"-holder", 5*time.Second); a.err != nil {
						t.Error(a.err)
					}
				})
			}
			running.Wait()
			w.pass(2 * time.Second) // until the windows have ended
		}
		if err := p.proc().member.Node().Snapshot(); err != nil {
			t.Fatal(err)
		}
		_, _, size := p.disk.usage()
		used := 0
		p.proc().member.State().View(func(s *fsm.State) { used = len(s.Workers(w.layout.Name, 0, 1<<20)) })
		t.Logf("after %d grants on %d workers: snapshots of %d bytes", total, used, size)
		if size > 4<<20 {
			t.Errorf("snapshots of %d bytes, want at most %d", size, 4<<20)
		}
	})
}
