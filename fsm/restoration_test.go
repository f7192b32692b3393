package fsm

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	seq "github.com/snowraft/snowraft/sequence"
	"github.com/snowraft/snowraft/snowflake"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

const (
	fenced         = commandv1.Refusal_REFUSAL_FENCED
	frozen         = commandv1.Refusal_REFUSAL_SEQUENCE_FROZEN
	unacknowledged = commandv1.Refusal_REFUSAL_RESTORE_UNACKNOWLEDGED
)

// periodOf returns the period in UTC, whatever the time zone.
func periodOf(p Periods, atMillis int64) (int32, error) {
	if p.TimeZone == "nowhere" {
		return 0, errors.New("no such zone")
	}
	return int32(calendarOf(p).PeriodAt(time.UnixMilli(atMillis).UTC())), nil
}

// calendarOf returns a calendar that does not use the state machine's dates.
func calendarOf(p Periods) seq.Calendar {
	return seq.Calendar{YearStarts: seq.YearStart(p.YearStarts), Reset: map[commandv1.SequenceReset]seq.Reset{
		resetNone: seq.ResetNone, resetDaily: seq.ResetDaily, resetWeekly: seq.ResetWeekly, resetMonthly: seq.ResetMonthly,
		resetQuarterly: seq.ResetQuarterly, resetYearly: seq.ResetYearly,
	}[p.Reset]}
}

// restoration returns the Restoration of a cluster that ended one minute after the epoch.
func restoration(s *State) Restoration {
	return Restoration{
		Index: s.FirstIndex(s.index, epoch+100_000, 0), NowMillis: epoch + 100_000, OldCluster: "old", OldEndedMillis: epoch + 60_000,
		ZonesKept: true, Period: periodOf,
	}
}

// restore takes the log's state through a backup into a new cluster.
func (l *log) restore(change func(*Restoration)) {
	l.t.Helper()
	l.survives()
	r := restoration(l.State)
	if change != nil {
		change(&r)
	}
	if err := l.Restore(r); err != nil {
		l.t.Fatal(err)
	}
	l.index = r.Index
	l.survives()
}

func resume(name string, generation uint64, after *int64, margin uint64) *commandv1.Command {
	return &commandv1.Command{Body: &commandv1.Command_ResumeSequence{ResumeSequence: &commandv1.ResumeSequence{
		Name: name, Generation: generation, After: after, Margin: margin,
	}}}
}

func acknowledge(index uint64) *commandv1.Command {
	return &commandv1.Command{Body: &commandv1.Command_AcknowledgeRestore{AcknowledgeRestore: &commandv1.AcknowledgeRestore{Index: index}}}
}

func TestFirstIndex(t *testing.T) {
	const second, minute, hour = int64(1000), int64(60_000), int64(3_600_000)
	fresh := NewState()
	restored := func(index uint64, at, observed int64) *State {
		s := NewState()
		s.observed, s.restored = observed, &commandv1.Restored{Index: index, RestoredAtMs: at}
		return s
	}
	first := fresh.FirstIndex(5, epoch, 0)
	soon := restored(first, epoch, 0)                                                // restored a moment ago
	ahead := restored(fresh.FirstIndex(5, epoch+2*minute, 0), epoch+2*minute, epoch) // restored by a host with a fast clock
	type restore struct {
		s          *State
		last       uint64
		now, ended int64
	}
	for _, c := range []struct {
		name          string
		earlier, then restore
	}{
		{"of one backup", restore{fresh, 5, epoch, epoch}, restore{fresh, 5, epoch + second, epoch}},
		{"of one backup, by a slow clock", restore{fresh, 5, epoch, 0}, restore{fresh, 5, epoch - 2*minute + second, epoch + second}},
		{"of one backup, of the same end ahead", restore{fresh, 5, epoch, epoch + minute}, restore{fresh, 5, epoch + second, epoch + minute}},
		{"of one backup, of an end in a year", restore{fresh, 5, epoch, epoch + 8760*hour}, restore{fresh, 5, epoch + second, epoch + 8760*hour}},
		{"of one backup of a restored cluster", restore{soon, first + 9, epoch + second, 0}, restore{soon, first + 9, epoch + 2*second, 0}},
		{"of a backup of a restored cluster, and of its own", restore{soon, first + 9, epoch + second, 0}, restore{fresh, 5, epoch + 3*second, 0}},
		{"of two backups of a restored cluster", restore{soon, first + 9_000, epoch + minute, 0}, restore{soon, first + 9, epoch + minute + second, 0}},
		{"of one backup after a fast clock", restore{ahead, first + 2*60<<20 + 2*60<<13 + 9, epoch + 2*minute, 0}, restore{ahead, first + 2*60<<20 + 2*60<<13 + 9, epoch + 2*minute + second, 0}},
	} {
		earlier := c.earlier.s.FirstIndex(c.earlier.last, c.earlier.now, c.earlier.ended)
		then := c.then.s.FirstIndex(c.then.last, c.then.now, c.then.ended)
		if earlier < c.earlier.last+indexGap || then < c.then.last+indexGap || then < earlier+1<<13 {
			t.Errorf("%s: FirstIndex() = %d, then %d, want it 2^13 higher", c.name, earlier, then)
		}
	}
	for _, clock := range []int64{math.MinInt64, -epoch, 0, 1000, math.MaxInt64} {
		for _, s := range []*State{fresh, soon, ahead, restored(first, math.MaxInt64, math.MaxInt64)} {
			for _, last := range []uint64{5, first + 9, math.MaxInt64, math.MaxUint64} {
				if got := s.FirstIndex(last, clock, clock); got < min(last, math.MaxInt64)+indexGap {
					t.Errorf("FirstIndex(%d) at %d = %d", last, clock, got)
				}
			}
		}
	}
	for s, last, generations := soon, first, 0; generations < 1000; generations++ { // one after the other, without a pause
		if last = s.FirstIndex(last+100, epoch, epoch); last > math.MaxInt64>>8 {
			t.Fatalf("FirstIndex() = %d of restore %d", last, generations)
		}
		s = restored(last, epoch, epoch)
	}
}

func TestFloorOfWindows(t *testing.T) {
	l := newLog(t, tiny)
	l.must(at(epoch, setConfig(&commandv1.Config{
		MaxWindowMs: 10_000, WaitThresholdMs: 1000, MaxClockOffsetMs: 500,
		Rollback: commandv1.RollbackPolicy_ROLLBACK_POLICY_SWAP, RedisCreate: commandv1.AutoCreate_AUTO_CREATE_OFF,
		Upgrades: commandv1.Upgrades_UPGRADES_AUTO,
	}, 0)))
	held := l.must(at(epoch, acquire("a", 1000))).Grant
	l.restore(nil)

	const floor = epoch + 60_000 + 10_000 + 2*500 // tick 7100 of 10 ms
	if got := l.Restored(); got.GetFloorAtMs() != floor || !slices.Equal(got.GetAncestors(), []string{"old"}) || !got.GetNamesClosed() {
		t.Fatalf("Restored() = %v", got)
	}
	r := l.refused(fenced, at(floor+10-1001, acquire("a", 1000)))
	if want := floor + 10 - 1000; r.RetryAtMillis != want {
		t.Errorf("retry at %d, want %d", r.RetryAtMillis, want)
	}
	for _, claim := range []*commandv1.Command{extend(held, nonceHash('a'), held.Until, 1000), release(held, nonceHash('a'), held.From)} {
		l.refused(commandv1.Refusal_REFUSAL_WINDOW_MISMATCH, at(floor, claim))
	}
	first := l.must(at(floor+10-1000, acquire("a", 1000))).Grant // used before
	second := l.must(at(floor, acquire("b", 1000))).Grant        // never used
	for _, g := range []Grant{first, second} {
		if g.From != 7101 || g.Token <= l.Restored().GetIndex() {
			t.Errorf("%+v, want it from tick 7101 on", g)
		}
	}
	later := snowflake.Spec{Name: "later", UnitMillis: 10_000, EpochMillis: epoch, Fields: tiny.Fields}
	l.refused(unacknowledged, at(floor, createLayout(later)))
	l.must(at(floor, createLayout(tiny))) // which is there
	l.must(acknowledge(l.Restored().GetIndex()))
	l.must(at(floor, createLayout(later)))
	cmd := acquire("c", 1000)
	cmd.GetAcquireWorker().Layout = "later"
	l.refused(fenced, at(floor+7_999, cmd))
	if g := l.must(at(floor+8_000, cmd)).Grant; g.From != 8 {
		t.Errorf("%+v of the later layout, want it from tick 8 on", g)
	}
}

func TestFloorOnlyRises(t *testing.T) {
	l := newLog(t, tiny)
	l.must(at(epoch+50_000, observe(false)))
	for i, c := range []struct {
		ended, window, offset, floor int64
	}{
		{1, 600_000, 500, 50_000 + 601_000}, // at least the observed clock
		{60_000, 0, 0, 60_000 + 601_000},    // at least the configured window and offset
		{60_000, 700_000, 1000, 60_000 + 702_000},
		{60_000, 0, 0, 60_000 + 702_000}, // at least the floor before
	} {
		l.restore(func(r *Restoration) {
			r.OldEndedMillis, r.MaxWindowMillis, r.MaxOffsetMillis = epoch+c.ended, c.window, c.offset
			r.OldCluster = fmt.Sprint("cluster-", i)
		})
		if got := l.Restored().GetFloorAtMs(); got != epoch+c.floor {
			t.Errorf("%+v: floor %d", c, got-epoch)
		}
	}
	for i := range 20 {
		l.restore(func(r *Restoration) { r.OldCluster = fmt.Sprint("later-", i) })
	}
	l.restore(func(r *Restoration) { r.OldCluster = "cluster-3" }) // restored again from an older backup
	if got := l.Restored().GetAncestors(); len(got) != 24 || got[0] != "cluster-0" || got[3] != "later-0" || got[23] != "cluster-3" {
		t.Errorf("ancestors %q", got)
	}
}

// An ancestry that was cut would make an older cluster look like a stranger.
func TestRestoreRefusesMoreAncestorsThanItKeeps(t *testing.T) {
	t.Parallel()
	s := sampleRestored(t)
	for i := range maxAncestors - 1 {
		s.restored.Ancestors = append(s.restored.Ancestors, fmt.Sprint("cluster-", i))
	}
	err := s.Restore(Restoration{Index: s.index + indexGap, NowMillis: epoch + 300_000_000, OldCluster: "last", ZonesKept: true, Period: periodOf})
	if err == nil || !strings.Contains(err.Error(), "earlier clusters") {
		t.Errorf("Restore() = %v", err)
	}
}

func mustRead(t testing.TB, data []byte) *State {
	t.Helper()
	s, err := ReadState(bytes.NewReader(data), Version)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestRestoredTokens(t *testing.T) {
	for _, keep := range []bool{false, true} {
		l := newLog(t)
		id := l.must(createToken("app", "ids")).Token.ID
		l.must(updateToken(0, 0, "ids", "metrics:read"))
		l.must(removeMember("node-1"))
		l.must(checkpoint(0, nil))
		l.restore(func(r *Restoration) { r.KeepTokens = keep })
		token, _ := l.Token(id)
		anonymous, _ := l.Token(0)
		if token.Disabled == keep || (len(anonymous.Scopes) == 2) != keep {
			t.Errorf("kept %v: %+v and %+v", keep, token, anonymous)
		}
		if index, _ := l.LastCheckpoint(); l.Removed("node-1") || index != 0 {
			t.Errorf("a removed member, or a checkpoint at %d", index)
		}
		if keep {
			continue
		}
		l.refused(commandv1.Refusal_REFUSAL_UNAUTHENTICATED, by(id, l.index, create(plain("s"), 0)))
		narrower := updateToken(id, token.Generation)
		if l.must(narrower); !l.must(updateToken(id, l.index, "ids")).Token.Disabled {
			t.Error("a change of scopes enabled the token")
		}
		enable := updateToken(id, l.index, "ids")
		enable.GetUpdateToken().Enable = true
		l.must(enable)
		l.must(acknowledge(l.Restored().GetIndex()))
		l.must(by(id, l.index, create(plain("s"), 0)))
		l.survives()
	}
}

func TestRestoreRefuses(t *testing.T) {
	for _, c := range []struct {
		want   string
		change func(*Restoration)
	}{
		{"beyond", func(r *Restoration) { r.Index-- }},
		{"index", func(r *Restoration) { r.Index = math.MaxUint64 }},
		{"floor", func(r *Restoration) { r.OldEndedMillis = math.MaxInt64 - 5 }},
		{"restore at 0", func(r *Restoration) { r.NowMillis = 0 }},
		{"cluster ID", func(r *Restoration) { r.OldCluster = "" }},
		{"no such zone", func(r *Restoration) {
			r.Period = func(Periods, int64) (int32, error) { return 0, errors.New("no such zone") }
		}},
		{"period of 5", func(r *Restoration) {
			r.Period = func(Periods, int64) (int32, error) { return 5, nil }
		}},
	} {
		l := newLog(t)
		l.must(create(plain("s", resetting(resetDaily)), 20250101))
		r := restoration(l.State)
		r.Index = l.State.index + indexGap
		c.change(&r)
		if err := l.Restore(r); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Restore() = %v, want an error of %q", err, c.want)
		}
	}
}

// A process that lives in both clusters repeats the return of its block in the earlier one.
func TestReturnAcrossRestore(t *testing.T) {
	old := newSequenceLog(t, plain("s"))
	old.take("s", 5, 0)
	l := &log{State: mustRead(t, snapshotBytes(t, old.State)), t: t, index: old.index}
	old.must(at(epoch, observe(false)))
	old.must(at(epoch, observe(false)))
	lost := old.take("s", 5, 0)

	l.restore(func(r *Restoration) { r.Index, r.OldEndedMillis = l.FirstIndex(old.index-3, 0, 0), 1 })
	l.must(resume("s", l.seq("s").Generation, new(int64(10)), 0))
	l.take("s", 5, 0)
	l.refused(notLast, giveBack("s", lost.Token, 5))
}
