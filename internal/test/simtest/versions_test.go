package simtest

import (
	"context"
	"errors"
	"testing"
	"time"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"

	"github.com/snowraft/snowraft/fsm"
)

// next is the version that the successor of this build would support.
const next = fsm.Version + 1

func (n *node) version() (version uint32) {
	n.proc().member.State().View(func(s *fsm.State) { version = s.FSMVersion() })
	return version
}

func (w *world) untilVersion(want uint32) {
	w.Helper()
	w.until(recovery, "fsm_version is raised everywhere", func() bool {
		for _, n := range w.live() {
			if n.version() != want {
				return false
			}
		}
		return true
	})
}

func (w *world) versionStays(want uint32, d time.Duration) {
	w.Helper()
	for end := time.Now().Add(d); time.Now().Before(end); w.pass(time.Second) {
		for _, n := range w.live() {
			if v := n.version(); v > want { // a restarted member may be behind
				w.Fatalf("fsm_version of %s is %d", n.name, v)
			}
		}
	}
}

func TestVersionIsRaisedWhenTheLastMemberIsUpgraded(t *testing.T) {
	t.Parallel()
	simulate(t, options{supported: []uint32{next, next, fsm.Version}, finalize: 3 * time.Second}, func(w *world) {
		w.untilVersion(fsm.Version)
		w.versionStays(fsm.Version, time.Minute)
		old := w.nodes[2]
		// The version stays while the old member is down, and under every leader.
		old.crash()
		w.versionStays(fsm.Version, 2*time.Minute)
		old.start()
		w.untilVersion(fsm.Version) // the old member replays its log
		for _, to := range w.nodes {
			_, _ = w.leader().proc().member.Node().TransferLeadership(w.Context(), to.name)
			w.versionStays(fsm.Version, 30*time.Second)
		}
		if err := old.stop(); err != nil {
			t.Error(err)
		}
		old.supported = next
		old.start()
		w.untilVersion(next)
		w.untilAllIssue(recovery)
	})
}

// While a member knows only the first version, no member gives its clients evidence of the history. Neither elections nor marks on
// disks halt a member.
func TestEvidenceBeginsWithItsVersion(t *testing.T) {
	t.Parallel()
	simulate(t, options{supported: []uint32{fsm.LineageVersion, fsm.LineageVersion, fsm.LineageVersion - 1}, finalize: 3 * time.Second}, func(w *world) {
		evidence := func(want bool) {
			t.Helper()
			for _, n := range w.nodes {
				m := n.proc().member
				if _, ok := m.Position(); ok != want {
					t.Errorf("%s gives evidence: %v, want %v", n.name, ok, want)
				}
				if m.Node().Mark().Index == 0 {
					t.Errorf("the disk of %s is not marked", n.name)
				}
				if m.State().Sealed() != nil || n.failed() != nil {
					t.Errorf("%s is sealed (%v) or halted (%v)", n.name, m.State().Sealed(), n.failed())
				}
			}
		}
		for range 3 {
			w.leader().crash()
			w.untilAllIssue(recovery)
			w.startAll()
			w.untilAllIssue(recovery)
			w.pass(2 * time.Second)
			w.untilVersion(fsm.LineageVersion - 1)
			evidence(false)
		}
		old := w.nodes[2]
		old.crash()
		old.supported = fsm.LineageVersion
		old.start()
		w.untilVersion(fsm.LineageVersion)
		w.pass(2 * time.Second)
		evidence(true)
	})
}

// A leader that never saw an old member does not know the versions that the old member supports.
func TestVersionIsNotRaisedOverAMemberThatIsNotKnown(t *testing.T) {
	t.Parallel()
	simulate(t, options{supported: []uint32{next, next, fsm.Version}, finalize: 3 * time.Second}, func(w *world) {
		w.untilVersion(fsm.Version)
		w.crashAll()
		w.nodes[0].start()
		w.nodes[1].start()
		w.untilAllIssue(20 * time.Second)
		w.untilVersion(fsm.Version)
		w.versionStays(fsm.Version, time.Minute)
		w.nodes[2].start()
		w.untilAllIssue(recovery)
		w.versionStays(fsm.Version, time.Minute)
	})
}

func TestVersionIsRaisedWhenTheLastOldMemberIsRemoved(t *testing.T) {
	t.Parallel()
	simulate(t, options{supported: []uint32{fsm.Version, next, next}, finalize: 3 * time.Second}, func(w *world) {
		w.untilVersion(fsm.Version)
		old := w.nodes[0]
		for w.leader() == old {
			_, _ = old.proc().member.Node().TransferLeadership(w.Context(), "")
			w.pass(time.Second)
		}
		w.untilVersion(fsm.Version)
		w.versionStays(fsm.Version, time.Minute)
		if err := w.leader().proc().member.Node().Remove(w.Context(), old.proc().member.Node().ID(), false); err != nil {
			t.Fatal(err)
		}
		w.until(recovery, "the removed member stopped", func() bool { return old.failed() != nil })
		w.untilVersion(next)
		undisturbed(w.live(), time.Minute)
	})
}

// A member that finds an unknown command halts with the reason; the others continue.
func TestOldMemberHalts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		cmd  *commandv1.Command
	}{
		{"at a version that it does not support", &commandv1.Command{Version: 1, Body: &commandv1.Command_RaiseVersion{
			RaiseVersion: &commandv1.RaiseVersion{Version: next},
		}}},
		{"at a command of a newer version", &commandv1.Command{Version: next, Body: &commandv1.Command_ObserveClock{
			ObserveClock: &commandv1.ObserveClock{},
		}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			simulate(t, options{supported: []uint32{next, next, fsm.Version}, finalize: 3 * time.Second}, func(w *world) {
				old := w.nodes[2]
				for w.leader() == old {
					_, _ = old.proc().member.Node().TransferLeadership(w.Context(), "")
					w.pass(time.Second)
				}
				// No correct leader proposes this command.
				c.cmd.ClockAtMs = time.Now().UnixMilli()
				data, err := fsm.Encode(c.cmd)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := w.leader().proc().member.Node().Propose(w.Context(), data); err != nil {
					t.Fatal(err)
				}
				w.until(recovery, "the old member halts", func() bool { return old.failed() != nil })
				if err := old.failed(); !errors.Is(err, fsm.ErrHalted) {
					t.Errorf("the old member failed with %v", err)
				}
				undisturbed(w.others(old), time.Minute)
				// The old member halts again after a restart.
				old.failure = nil
				old.start()
				w.until(recovery, "the old member halts again", func() bool { return old.failed() != nil })
				if err := old.failed(); !errors.Is(err, fsm.ErrHalted) {
					t.Errorf("the old member failed with %v", err)
				}
				undisturbed(w.live(), time.Minute)
				// The member issues again after its upgrade.
				old.supported = next
				old.start()
				w.untilAllIssue(recovery)
			})
		})
	}
}

// A command that cannot be decoded, such as one of a damaged leader, never reaches the logs of other members.
func TestUndecodableCommandStaysWithItsLeader(t *testing.T) {
	t.Parallel()
	simulate(t, options{}, func(w *world) {
		bad := w.leader()
		ctx, cancel := context.WithTimeout(w.Context(), time.Second)
		defer cancel()
		if _, err := bad.proc().member.Node().Propose(ctx, []byte("no command")); err == nil {
			t.Error("the command was committed")
		}
		bad.crash()
		bad.start()
		w.pass(10 * time.Second) // the command blocked the log for so long that windows end
		undisturbed(w.live(), time.Minute)
		for _, n := range w.nodes {
			if err := n.failed(); err != nil {
				t.Errorf("%s failed: %v", n.name, err)
			}
		}
	})
}

// A member that was away during an upgrade of the others gets a snapshot that it cannot read.
func TestOldMemberHaltsAtASnapshot(t *testing.T) {
	t.Parallel()
	simulate(t, options{supported: []uint32{next, next, fsm.Version}, finalize: 3 * time.Second, timing: eager}, func(w *world) {
		w.untilVersion(fsm.Version)
		old := w.nodes[2]
		old.crash()
		w.untilAllIssue(recovery) // also with another leader
		raise := &commandv1.Command{Version: 1, ClockAtMs: time.Now().UnixMilli(), Body: &commandv1.Command_RaiseVersion{
			RaiseVersion: &commandv1.RaiseVersion{Version: next},
		}}
		data, err := fsm.Encode(raise)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.leader().proc().member.Node().Propose(w.Context(), data); err != nil {
			t.Fatal(err)
		}
		w.commit(4000)
		w.pass(time.Minute)
		old.start()
		w.until(time.Minute, "the old member halts", func() bool { return old.failed() != nil })
		if err := old.failed(); !errors.Is(err, fsm.ErrHalted) && !errors.Is(err, fsm.ErrUnknownCommand) {
			t.Errorf("the old member failed with %v", err)
		}
		undisturbed(w.live(), time.Minute)
	})
}
