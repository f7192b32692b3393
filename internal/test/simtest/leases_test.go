package simtest

import (
	"errors"
	"testing"
	"time"

	"github.com/snowraft/snowraft/allocator"
	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/internal/member"
)

// TestLeasesWaitForTheUpgrade runs members of this version with one of the earlier. Until the upgrade is finalized, no command
// has a field that the earlier member does not know: the description of a process is left out, and other such requests fail.
func TestLeasesWaitForTheUpgrade(t *testing.T) {
	t.Parallel()
	const earlier = fsm.LeaseVersion - 1
	simulate(t, options{supported: []uint32{fsm.Version, fsm.Version, earlier}, finalize: 3 * time.Second}, func(w *world) {
		w.untilVersion(earlier)
		layout := w.audit.layout
		acquire := func(holder string, below uint64) (allocator.Grant, error) {
			return w.leader().proc().member.AcquireWorker(w.Context(), allocator.AcquireRequest{
				Layout: layout.Name(), Holder: holder, Nonce: allocator.Nonce{9}, NowMillis: time.Now().UnixMilli(), Window: time.Second,
				Below: below, Process: allocator.Process{Host: "web-1", ID: "812", Kind: "worker run", Version: "1.4.0"},
			})
		}
		host := func(n *node, worker uint64) (host string) {
			n.proc().member.State().View(func(s *fsm.State) {
				if all := s.Workers(layout.Name(), worker, 1); len(all) > 0 && all[0].Process != nil {
					host = all[0].Process.Host
				}
			})
			return host
		}
		g, err := acquire("app", 0)
		if err != nil {
			t.Fatal(err)
		}
		if h := host(w.leader(), g.Worker); h != "" {
			t.Errorf("before the upgrade is finalized, the log has the host %q", h)
		}
		old := w.nodes[2]
		if _, err := acquire("app", 8); !errors.As(err, new(*member.VersionError)) {
			t.Errorf("AcquireWorker() below 8 = %v, want a VersionError", err)
		}
		w.pass(10 * time.Second)
		if err := old.failed(); err != nil {
			t.Errorf("the earlier member halted: %v", err)
		}
		if err := old.stop(); err != nil {
			t.Error(err)
		}
		old.supported = fsm.Version
		old.start()
		w.untilVersion(fsm.Version)
		w.untilAllIssue(recovery)
		w.pass(10 * time.Second) // the windows of both acquisitions end
		if g, err = acquire("app", 8); err != nil || g.Worker >= 8 {
			t.Fatalf("AcquireWorker() below 8 = %+v, %v", g, err)
		}
		w.until(recovery, "all members know the process", func() bool {
			for _, n := range w.live() {
				if host(n, g.Worker) != "web-1" {
					return false
				}
			}
			return true
		})
	})
}
