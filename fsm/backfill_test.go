package fsm

import (
	"testing"

	"github.com/snowraft/snowraft/snowflake"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

const (
	noPast           = commandv1.Refusal_REFUSAL_NO_PAST
	pastClosed       = commandv1.Refusal_REFUSAL_PAST_CLOSED
	unknownBackfill  = commandv1.Refusal_REFUSAL_UNKNOWN_BACKFILL
	backfillEnded    = commandv1.Refusal_REFUSAL_BACKFILL_ENDED
	backfillPosition = commandv1.Refusal_REFUSAL_BACKFILL_POSITION
)

// old is a layout with two workers, a tick of 10 ms and a past.
var old = func() snowflake.Spec {
	spec := tiny
	spec.Name, spec.Past = "old", true
	return spec
}()

func start(layout string) *commandv1.Command {
	return &commandv1.Command{Body: &commandv1.Command_StartBackfill{StartBackfill: &commandv1.StartBackfill{Layout: layout, Holder: "import"}}}
}

func extendJob(job uint64, from, until int64, digest byte) *commandv1.Command {
	return &commandv1.Command{Body: &commandv1.Command_ExtendBackfill{ExtendBackfill: &commandv1.ExtendBackfill{
		Layout: "old", Job: job, FromPlace: from, UntilPlace: until, Digest: nonceHash(digest),
	}}}
}

func endJob(job uint64) *commandv1.Command {
	return &commandv1.Command{Body: &commandv1.Command_EndBackfill{EndBackfill: &commandv1.EndBackfill{Layout: "old", Job: job}}}
}

func resumePast(after *uint64) *commandv1.Command {
	return &commandv1.Command{Body: &commandv1.Command_ResumeBackfill{ResumeBackfill: &commandv1.ResumeBackfill{Layout: "old", After: after}}}
}

// newPastLog returns a log whose layout "old" was created 1 s after its epoch, so that its past has 100 ticks of 16 places.
func newPastLog(t testing.TB) *log {
	l := newLog(t, tiny)
	l.must(raise(Version))
	l.must(at(epoch+1000, observe(false)))
	l.must(at(epoch+1000, createLayout(old)))
	return l
}

func TestBackfill(t *testing.T) {
	l := newPastLog(t)
	if p, ok := l.Past("old"); !ok || p != (Past{Border: 100, Jobs: 2}) {
		t.Errorf("past %+v", p)
	}
	l.refused(noPast, start("tiny"))
	l.refused(unknownBackfill, extendJob(0, 0, 1, 'a'))
	for job := range uint64(2) {
		if b := l.must(at(epoch+7, start("old"))).Backfill; b != (Backfill{Job: job, Holder: "import", CreatedMillis: epoch + 7}) {
			t.Errorf("started %+v", b)
		}
	}
	l.refused(limitReached, start("old"))
	l.must(extendJob(0, 0, 10, 'a'))
	l.refused(backfillPosition, extendJob(0, 0, 10, 'b'))
	l.refused(backfillPosition, extendJob(0, 0, 11, 'a'))
	l.refused(invalidArgument, extendJob(0, 10, 10, 'b'))
	l.refused(invalidArgument, extendJob(0, 10, 9, 'b'))
	l.refused(invalidArgument, extendJob(0, 10, 1601, 'b'))
	before := l.facts()
	if l.must(extendJob(0, 0, 10, 'a')); l.facts() != before {
		t.Error("a repetition changed the state")
	}
	l.survives()
	l.must(extendJob(0, 0, 10, 'a')) // recognized after a restart, too
	if b := l.must(extendJob(0, 10, 1600, 'a')).Backfill; b.Place != 1600 {
		t.Errorf("extended to %+v", b)
	}
	for tick, want := range map[int64]bool{0: true, 99: true, 100: false} {
		if b, ok := l.BackfillAt("old", 0, tick); ok != want || ok && b.Job != 0 {
			t.Errorf("the job of tick %d: %+v, %t", tick, b, ok)
		}
	}
	if b, ok := l.BackfillAt("old", 1, 0); ok {
		t.Errorf("the job of a cell that was not granted: %+v", b)
	}
	l.must(endJob(1))
	l.must(endJob(1))
	l.refused(backfillEnded, extendJob(1, 0, 1, 'a'))
	l.refused(invalidArgument, resumePast(nil))
	l.survives()
}

// TestPastHasNoWindows sets clocks back into the past, under the policy that allows it.
func TestPastHasNoWindows(t *testing.T) {
	l := newPastLog(t)
	config := l.Config()
	swap := &commandv1.Config{
		MaxWindowMs: 1000, WaitThresholdMs: 200, MaxClockOffsetMs: 500, Rollback: commandv1.RollbackPolicy_ROLLBACK_POLICY_SWAP,
		RedisCreate: config.GetRedisCreate(), Upgrades: config.GetUpgrades(),
	}
	l.must(setConfig(swap, 0))
	acquire := func(ms int64) *commandv1.Command {
		cmd := at(epoch+ms, acquire("a/0", 500))
		cmd.GetAcquireWorker().Layout = "old"
		return cmd
	}
	if r := l.refused(fenced, acquire(790)); r.RetryAtMillis != epoch+800 {
		t.Errorf("retry at %d, want the time from which a window can begin at the border", r.RetryAtMillis-epoch)
	}
	if g := l.must(acquire(800)).Grant; g.From != 100 {
		t.Errorf("a window from tick %d on, want the border", g.From)
	}
	l.must(at(epoch, observe(true)))
	l.refused(fenced, acquire(0))
	l.survives()
}

// TestPastEndsAtTheGreatestClock creates layouts while the clock is lowered: a layout whose windows begin before the time of an
// earlier backup could not be distinguished from one that is created from it.
func TestPastEndsAtTheGreatestClock(t *testing.T) {
	l := newPastLog(t)
	l.must(at(epoch+5000, observe(false)))
	l.must(at(epoch+10, observe(true)))
	l.survives()
	second := old
	second.Name = "second"
	l.refused(clockBehind, at(epoch+3000, createLayout(second)))
	l.must(at(epoch+4500, createLayout(second)))
	if p, _ := l.Past("second"); p.Border != 500 {
		t.Errorf("the past ends at tick %d, want 500", p.Border)
	}
	future := old
	future.Name, future.EpochMillis = "future", epoch+5000
	l.refused(invalidArgument, at(epoch+5000, createLayout(future)))
	older := newLog(t)
	older.refused(commandv1.Refusal_REFUSAL_VERSION_TOO_LOW, withVersion(at(epoch, createLayout(old))))
}

func withVersion(cmd *commandv1.Command) *commandv1.Command {
	cmd.Version = MinVersion(cmd)
	return cmd
}

func TestRestoreClosesThePast(t *testing.T) {
	l := newPastLog(t)
	l.must(start("old"))
	l.must(extendJob(0, 0, 10, 'a'))
	l.must(at(epoch+2000, observe(false)))
	l.restore(nil)
	if n := l.ClosedPasts(); n != 1 {
		t.Errorf("%d pasts are closed, want 1", n)
	}
	l.refused(pastClosed, start("old"))
	l.refused(backfillEnded, extendJob(0, 10, 11, 'b'))
	l.refused(backfillEnded, extendJob(0, 0, 10, 'a'))
	l.refused(invalidArgument, resumePast(new(uint64(2))))
	l.must(resumePast(new(uint64(0))))
	if b := l.must(start("old")).Backfill; b.Job != 1 {
		t.Errorf("started %+v, want job 1", b)
	}
	l.survives()
	l.restore(nil)
	l.refused(wouldRepeats, resumePast(new(uint64(0))))
	l.must(resumePast(nil))
	l.refused(limitReached, start("old"))

	// A layout that the backup lacks may have had windows from the time of the first backup on, and jobs.
	l.must(acknowledge(l.Restored().GetIndex()))
	lost := old
	lost.Name = "lost"
	l.must(at(epoch+100_000, observe(false)))
	l.must(at(epoch+100_000, createLayout(lost)))
	if p, _ := l.Past("lost"); p.Border != 200 || !p.Closed {
		t.Errorf("the past of a layout that is created again: %+v", p)
	}
	l.survives()
}

// TestReplayedLayoutMayBeAnother creates a layout in a log that may not be committed: the cluster may have created it before.
func TestReplayedLayoutMayBeAnother(t *testing.T) {
	l := newPastLog(t)
	second := old
	second.Name = "second"
	r := NewReplay(mustRead(t, snapshotBytes(t, l.State)), Version)
	for i, cmd := range []*commandv1.Command{at(epoch+3000, observe(false)), withVersion(at(epoch+3000, createLayout(second)))} {
		if err := r.Apply(entryAt(t, l.index+1+uint64(i), cmd)); err != nil {
			t.Fatal(err)
		}
	}
	s, err := r.State()
	if err != nil {
		t.Fatal(err)
	}
	if p, _ := s.Past("second"); p.Border != 300 {
		t.Fatalf("before the restore: %+v", p)
	}
	if err := s.Restore(restoration(s)); err != nil {
		t.Fatal(err)
	}
	if p, _ := s.Past("second"); p.Border != 100 {
		t.Errorf("after the restore: %+v", p)
	}
}
