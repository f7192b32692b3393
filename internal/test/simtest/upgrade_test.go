package simtest

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/snowraft/snowraft/cluster"
	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/internal/member"
	"github.com/snowraft/snowraft/internal/test/depth"
)

// soon replaces the hour before an upgrade is finalized, because the simulation of an hour takes seconds.
var soon = time.Duration(depth.Of(3, 6)) * time.Minute

// almost returns the time before the leader finalizes an upgrade, without the last minute. The leader notices all members in it.
func (w *world) almost() time.Duration { return cmp.Or(w.finalize, time.Hour) - time.Minute }

// upgrade restarts nodes with a program that knows the next version.
func (w *world) upgrade(nodes ...*node) {
	w.Helper()
	for _, n := range nodes {
		if err := n.stop(); err != nil {
			w.Error(err)
		}
		n.supported = next
		n.start()
		w.untilAllIssue(recovery)
	}
}

// finalizes checks that the leader raises the version after the waiting time, and not before.
func (w *world) finalizes() {
	w.Helper()
	w.versionStays(fsm.Version, w.almost())
	w.pass(time.Minute)
	w.untilVersion(next)
}

func (w *world) finalizeNow(without ...string) error {
	w.Helper()
	from, to, err := w.leader().proc().member.FinalizeUpgrade(w.Context(), without)
	if err == nil && (from != fsm.Version || to != next) {
		w.Errorf("FinalizeUpgrade() = %d, %d, want %d, %d", from, to, fsm.Version, next)
	}
	return err
}

func TestUpgradeIsFinalizedAfterAnHour(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		// disturb happens in the middle of the first hour, after which another hour begins.
		disturb func(*world)
	}{
		{"undisturbed", nil},
		{"a member restarts", func(w *world) {
			n := w.follower()
			n.crash()
			n.start()
			w.untilAllIssue(recovery)
		}},
		{"a member is cut off", func(w *world) {
			lost := w.follower()
			w.net.part([]*node{lost}, w.others(lost), allPlanes...)
			w.until(time.Minute, "the leader notices", func() bool { return len(w.leader().proc().member.Upgrade().Blockers) > 0 })
			w.pass(2 * time.Second) // the leader checks every second
			w.net.heal()
		}},
		{"another leader", func(w *world) {
			if _, err := w.leader().proc().member.Node().TransferLeadership(w.Context(), ""); err != nil {
				w.Fatal(err)
			}
		}},
		{"a member goes back", func(w *world) {
			n := w.follower()
			n.crash()
			n.supported = fsm.Version
			n.start()
			w.untilAllIssue(recovery)
			w.versionStays(fsm.Version, 2*soon)
			w.upgrade(n)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			o := options{supported: []uint32{fsm.Version, fsm.Version, fsm.Version}, idle: true, finalize: soon}
			if c.disturb == nil {
				o.finalize = time.Duration(depth.Of(20, 0)) * time.Minute // 0: the default, an hour
			}
			simulate(t, o, func(w *world) {
				w.upgrade(w.nodes...)
				if c.disturb != nil {
					w.versionStays(fsm.Version, soon/2)
					c.disturb(w)
					w.pass(2 * time.Second) // the leader checks every second
				}
				var u member.Upgrade
				w.until(time.Minute, "the waiting time begins", func() bool {
					u = w.leader().proc().member.Upgrade()
					return u.DueAtMillis != 0
				})
				left := time.Until(time.UnixMilli(u.DueAtMillis))
				if u.Used != fsm.Version || u.Next != next || len(u.Blockers) > 0 || left < w.almost() || left > w.almost()+time.Minute {
					t.Errorf("Upgrade() = %+v, due in %v, want %d and %d", u, left, fsm.Version, next)
				}
				w.finalizes()
				w.untilAllIssue(recovery)
			})
		})
	}
}

// Nonvoters apply the log too.
func TestUpgradeWaitsForNonvoters(t *testing.T) {
	t.Parallel()
	never := cluster.Timing{PromoteAfter: 24 * time.Hour}
	simulate(t, options{supported: []uint32{fsm.Version, fsm.Version, fsm.Version, fsm.Version}, idle: true, timing: never, finalize: soon}, func(w *world) {
		nonvoter := w.addNode(0).start()
		w.untilAllIssue(recovery)
		w.upgrade(w.nodes[:3]...)
		w.versionStays(fsm.Version, 2*soon)
		if err := w.finalizeNow(); !errors.Is(err, member.ErrUpgradeBlocked) || !strings.Contains(err.Error(), fmt.Sprintf(`member "m4" knows commands up to %d;`, fsm.Version)) {
			t.Errorf("FinalizeUpgrade() = %v, want that m4 blocks", err)
		}
		w.upgrade(nonvoter)
		w.finalizes()
	})
}

func TestManualUpgradeIsNotFinalized(t *testing.T) {
	t.Parallel()
	simulate(t, options{supported: []uint32{fsm.Version, fsm.Version, fsm.Version}, idle: true, manual: true, finalize: soon}, func(w *world) {
		w.upgrade(w.nodes...)
		w.versionStays(fsm.Version, 2*soon)
		if u := w.leader().proc().member.Upgrade(); u.DueAtMillis != 0 || u.Next != next || len(u.Blockers) > 0 {
			t.Errorf("Upgrade() = %+v, want %d without a due time and blockers", u, next)
		}
		if err := w.finalizeNow(); err != nil {
			t.Fatal(err)
		}
		w.untilVersion(next)
		from, to, err := w.leader().proc().member.FinalizeUpgrade(w.Context(), nil)
		if from != next || to != next || err != nil {
			t.Errorf("FinalizeUpgrade() again = %d, %d, %v, want %d, %d, nil", from, to, err, next, next)
		}
	})
}

func TestNewManualClusterStartsAtTheNewestVersion(t *testing.T) {
	t.Parallel()
	simulate(t, options{supported: []uint32{next, next, next}, idle: true, manual: true}, func(w *world) { w.untilVersion(next) })
}

func TestUpgradeIsFinalizedWithoutMembers(t *testing.T) {
	t.Parallel()
	simulate(t, options{members: 3, supported: []uint32{fsm.Version, fsm.Version, fsm.Version}, idle: true}, func(w *world) {
		w.upgrade(w.nodes[:2]...)
		old := w.nodes[2]
		for w.leader() == old {
			_, _ = old.proc().member.Node().TransferLeadership(w.Context(), "m1")
			w.pass(time.Second)
		}
		leader, other := w.leader(), w.nodes[0]
		if leader == other {
			other = w.nodes[1]
		}
		old.crash()
		// Gossip takes longer than usual to notice the end of a process that has just started.
		w.until(3*recovery, "the leader notices", func() bool {
			return slices.ContainsFunc(leader.proc().member.Upgrade().Blockers, func(b member.UpgradeBlocker) bool { return !b.Alive })
		})
		if err := w.finalizeNow(); !errors.Is(err, member.ErrUpgradeBlocked) || !strings.Contains(err.Error(), `member "m3" is not alive`) {
			t.Errorf("FinalizeUpgrade() = %v, want that m3 blocks", err)
		}
		if err := w.finalizeNow("m3", leader.name); !errors.Is(err, member.ErrUpgradeBlocked) || !strings.Contains(err.Error(), "transfer leadership first") {
			t.Errorf("FinalizeUpgrade() without the leader = %v, want an ErrUpgradeBlocked", err)
		}
		if err := w.finalizeNow("m3", other.name); !errors.Is(err, cluster.ErrQuorum) {
			t.Errorf("FinalizeUpgrade() without a majority = %v, want an ErrQuorum", err)
		}
		if err := w.finalizeNow("m7"); !errors.Is(err, cluster.ErrUnknownMember) {
			t.Errorf("FinalizeUpgrade() without an unknown member = %v, want an ErrUnknownMember", err)
		}
		w.versionStays(fsm.Version, time.Minute)
		if err := w.finalizeNow("m3"); err != nil {
			t.Fatal(err)
		}
		w.untilVersion(next)
		old.start()
		w.until(recovery, "the old member halts", func() bool { return old.failed() != nil })
		if newer, ok := errors.AsType[*fsm.NewerError](old.failed()); !ok || *newer != (fsm.NewerError{Used: next, Known: fsm.Version}) {
			t.Errorf("the old member failed with %v, want a NewerError", old.failed())
		}
		old.supported = next
		old.start()
		w.untilAllIssue(recovery)
	})
}
