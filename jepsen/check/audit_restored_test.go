package check

import (
	"math"
	"testing"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"

	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/jepsen/raftlog"
)

const (
	restoredIndex = 1 << 40
	// restoredTick is the first tick that the restored cluster may grant. The old cluster stopped at tick 0, with a
	// maximum window of ten minutes and a maximum clock offset of half a second.
	restoredTick = 60_101
)

// TestAuditOfLives feeds the models in a second life with commands and results, some of which break a rule.
func TestAuditOfLives(t *testing.T) {
	t.Parallel()
	type add func(at int64, cmd *commandv1.Command, result fsm.Result)
	acquire := func(at int64, g fsm.Grant) (int64, *commandv1.Command, fsm.Result) {
		return at, &commandv1.Command{Body: &commandv1.Command_AcquireWorker{AcquireWorker: &commandv1.AcquireWorker{
			Layout: "tiny", Holder: "n1/0", NonceHash: worldNonce(1), WindowMs: 1000,
		}}}, fsm.Result{Grant: g}
	}
	extend := &commandv1.Command{Body: &commandv1.Command_ExtendWindow{ExtendWindow: &commandv1.ExtendWindow{
		Layout: "tiny", Token: 3, NonceHash: worldNonce(1), UntilTick: 70_100, WindowMs: 1000,
	}}}
	create := func(name string) (int64, *commandv1.Command, fsm.Result) {
		return 0, &commandv1.Command{Body: &commandv1.Command_CreateSequence{CreateSequence: &commandv1.CreateSequence{Spec: sequenceSpec(name, 2, 0, 1000)}}}, fsm.Result{}
	}
	allocate := func(first int64, repeated bool) (int64, *commandv1.Command, fsm.Result) {
		return 0, &commandv1.Command{Body: &commandv1.Command_AllocateBlock{AllocateBlock: &commandv1.AllocateBlock{Name: "s", Count: 5, RequestId: []byte("id")}}},
			fsm.Result{Block: fsm.BlockGrant{First: first, Count: 5, Increment: 2, Repeated: repeated}}
	}
	resume := func(after *int64, margin uint64) (int64, *commandv1.Command, fsm.Result) {
		return 0, &commandv1.Command{Body: &commandv1.Command_ResumeSequence{ResumeSequence: &commandv1.ResumeSequence{Name: "s", After: after, Margin: margin}}}, fsm.Result{}
	}
	start := func(job uint64) (int64, *commandv1.Command, fsm.Result) {
		return 0, &commandv1.Command{Body: &commandv1.Command_StartBackfill{StartBackfill: &commandv1.StartBackfill{Layout: "tiny"}}}, fsm.Result{Backfill: fsm.Backfill{Job: job}}
	}
	places := func(job uint64, from, until int64, request byte) (int64, *commandv1.Command, fsm.Result) {
		return 0, &commandv1.Command{Body: &commandv1.Command_ExtendBackfill{ExtendBackfill: &commandv1.ExtendBackfill{
			Layout: "tiny", Job: job, FromPlace: from, UntilPlace: until, Digest: []byte{request},
		}}}, fsm.Result{}
	}
	acknowledge := &commandv1.Command{Body: &commandv1.Command_AcknowledgeRestore{AcknowledgeRestore: &commandv1.AcknowledgeRestore{}}}
	for name, c := range map[string]struct {
		with func(add add)
		want string
	}{
		"a new worker": {func(a add) {
			a(acquire(60_090, fsm.Grant{Worker: 1, Token: restoredIndex + 1, From: restoredTick, Until: 60_200}))
		}, ""},
		"a new worker below the floor": {func(a add) {
			a(acquire(60_090, fsm.Grant{Worker: 1, Token: restoredIndex + 1, From: 60_100, Until: 60_200}))
		}, "an earlier cluster may have granted all ticks below 60101"},
		"granted before":         {func(a add) { a(acquire(65_000, fsm.Grant{Token: restoredIndex + 1, From: 65_000, Until: 65_100})) }, "all ticks below 70100 were already granted"},
		"after earlier grants":   {func(a add) { a(acquire(65_000, fsm.Grant{Token: restoredIndex + 1, From: 70_200, Until: 70_300})) }, ""},
		"an earlier claim":       {func(a add) { a(65_000, extend, fsm.Result{Grant: fsm.Grant{Token: 3, From: 70_000, Until: 70_200}}) }, "which is not the present window"},
		"a frozen sequence":      {func(a add) { a(allocate(500, false)) }, "the sequence was not resumed"},
		"a known answer":         {func(a add) { a(allocate(0, true)) }, ""},
		"resumed":                {func(a add) { a(resume(new(int64(100)), 0)); a(allocate(102, false)) }, ""},
		"resumed too low":        {func(a add) { a(resume(new(int64(100)), 0)); a(allocate(100, false)) }, "were already granted"},
		"resumed with a margin":  {func(a add) { a(resume(new(int64(100)), 10)); a(allocate(122, false)) }, ""},
		"resumed in the margin":  {func(a add) { a(resume(new(int64(100)), 10)); a(allocate(120, false)) }, "were already granted"},
		"resumed by the backup":  {func(a add) { a(resume(nil, 10)); a(allocate(30, false)) }, ""},
		"resumed beyond 64 bits": {func(a add) { a(resume(new(int64(math.MaxInt64-1)), 10)); a(allocate(500, false)) }, "were already granted"},
		"a new job":              {func(a add) { a(start(1)) }, ""},
		"a job started before":   {func(a add) { a(start(0)) }, "starts backfill job 0 of layout \"tiny\", which was started before"},
		"a job started twice":    {func(a add) { a(start(1)); a(start(1)) }, "starts backfill job 1 of layout \"tiny\", which was started before"},
		"an earlier job":         {func(a add) { a(places(0, 100, 200, 2)) }, "which this cluster did not start"},
		"places":                 {func(a add) { a(start(1)); a(places(1, 0, 50, 1)); a(places(1, 50, 60, 2)) }, ""},
		"repeated places":        {func(a add) { a(start(1)); a(places(1, 0, 50, 1)); a(places(1, 0, 50, 1)) }, ""},
		"places twice":           {func(a add) { a(start(1)); a(places(1, 0, 50, 1)); a(places(1, 0, 50, 2)) }, "which has the places up to 50"},
		"a window in places": {func(a add) {
			a(acquire(60_090, fsm.Grant{Worker: 1, Token: restoredIndex + 1, From: restoredTick, Until: 60_200}))
			a(start(1))
			a(places(1, 0, 60_150*16, 1))
		}, "and the backfill job of its number the places 0 to 962400"},
		"a new name":               {func(a add) { a(create("new")) }, "the restore was not acknowledged"},
		"a new name, acknowledged": {func(a add) { a(0, acknowledge, fsm.Result{}); a(create("new")) }, ""},
		"a name after the backup":  {func(a add) { a(create("late")) }, "the restore was not acknowledged"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newVerdict("x")
			a, index := newAudit(v), uint64(0)
			add := func(at int64, cmd *commandv1.Command, result fsm.Result) {
				index++
				cmd.ClockAtMs = worldEpoch + at*worldSpec.UnitMillis
				a.take(&raftlog.Applied{Entry: raftlog.Entry{Index: index, Term: 1}, Command: cmd, Result: result})
			}
			layout := &commandv1.Command{ClockAtMs: worldEpoch, Body: &commandv1.Command_CreateLayout{CreateLayout: &commandv1.CreateLayout{Spec: fsm.LayoutSpec(worldSpec)}}}
			_, sequence, _ := create("s")
			add(0, layout, fsm.Result{})
			add(0, sequence, fsm.Result{})
			add(acquire(70_000, fsm.Grant{Token: 3, From: 70_000, Until: 70_100})) // clock ahead
			add(allocate(0, false))
			add(create("late"))
			add(start(0))
			add(places(0, 0, 100, 1))
			add(start(1)) // known to no client

			backup := fsm.NewState()
			layout.Version, sequence.Version = fsm.MinVersion(layout), fsm.MinVersion(sequence)
			sequence.GetCreateSequence().Spec = sequenceSpec("s", 2, 0, 1000)
			sequence.GetCreateSequence().Spec.Reset_ = commandv1.SequenceReset_SEQUENCE_RESET_NONE
			for i, cmd := range []*commandv1.Command{layout, sequence} {
				if err := backup.Apply(uint64(i+1), 1, cmd).Failure(); err != nil {
					t.Fatal(err)
				}
			}
			err := backup.Restore(fsm.Restoration{
				Index: restoredIndex, NowMillis: worldEpoch, OldCluster: "old", OldEndedMillis: worldEpoch, MaxWindowMillis: 600_000, MaxOffsetMillis: 500,
			})
			if err != nil {
				t.Fatal(err)
			}
			known := raftlog.BeginningOf(backup)
			a.windows.restored(known)
			a.sequences.restored(known)
			index, a.raft = restoredIndex, newRaftAudit(v, &raftlog.Log{Base: raftlog.Snapshot{Index: restoredIndex, Term: 1}})
			c.with(add)
			a.windows.checkDisjoint()
			v.Summary = "-"
			if c.want == "" {
				wantVerdict(t, *v, Pass, "")
			} else {
				wantVerdict(t, *v, Fail, c.want)
			}
		})
	}
}
