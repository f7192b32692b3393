package check

import (
	"math"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"

	"github.com/snowraft/snowraft/jepsen/history"
)

// TestAuditPasses has a log with all kinds of valid commands.
func TestAuditPasses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.append(raft.LogConfiguration, configuration("a", "b", "c"))
	w.term = 3
	w.append(raft.LogNoop, nil)
	w.append(raft.LogConfiguration, configuration("a", "b", "c", "d"))
	observe := func(now int64, force bool) {
		w.mustDo(now, &commandv1.Command{Body: &commandv1.Command_ObserveClock{ObserveClock: &commandv1.ObserveClock{Force: force}}})
	}
	observe(worldEpoch+5000, false)
	observe(worldEpoch+4000, false)
	observe(worldEpoch, true)
	w.mustDo(worldEpoch, &commandv1.Command{Body: &commandv1.Command_RaiseVersion{RaiseVersion: &commandv1.RaiseVersion{Version: 2}}})
	w.mustDo(worldEpoch, &commandv1.Command{Body: &commandv1.Command_SetConfig{SetConfig: &commandv1.SetConfig{Config: &commandv1.Config{
		MaxWindowMs: 2000, WaitThresholdMs: 500, MaxClockOffsetMs: 100, Rollback: commandv1.RollbackPolicy_ROLLBACK_POLICY_REFUSE,
		RedisCreate: commandv1.AutoCreate_AUTO_CREATE_OFF,
		Upgrades:    commandv1.Upgrades_UPGRADES_AUTO,
	}}}})
	first := w.acquire(10, "n1/0", 1)
	w.acquire(20, "n2/0", 2)
	r := w.extend(60, first, 1)
	if r.Failure() != nil {
		t.Fatal(r.Failure())
	}
	if r := w.extend(70, first, 1); r.Err == nil {
		t.Fatal("extend() with an old end succeeded, want refusal")
	}
	w.release(r.Grant, 1, 90)
	if r := w.extend(95, r.Grant, 1); r.Err == nil {
		t.Fatal("extend() after the release succeeded, want refusal")
	}
	w.acquire(80, "n1/0", 3)

	created := w.mustDo(worldEpoch, &commandv1.Command{Body: &commandv1.Command_CreateSequence{CreateSequence: &commandv1.CreateSequence{
		Spec: sequenceSpec("s", -3, math.MinInt64, math.MaxInt64), Period: 20250101,
	}}})
	generation := created.Sequence.Generation
	for range 3 {
		block := w.allocate(generation, 10, 20250101, "").Block
		if r := w.giveBack(block.Token, 4); r.Failure() != nil {
			t.Fatal(r.Failure())
		}
		block = w.allocate(generation, 10, 20250101, "").Block
		if r := w.giveBack(block.Token, 10); r.Failure() != nil {
			t.Fatal(r.Failure())
		}
	}
	for range 2 {
		if r := w.allocate(generation, 7, 20250101, "id"); r.Failure() != nil {
			t.Fatal(r.Failure())
		}
	}
	if r := w.allocate(generation, 7, 20250102, ""); r.Failure() != nil || r.Block.First != math.MaxInt64 {
		t.Fatalf("allocate() in the next period = %+v, want first %d", r, math.MaxInt64)
	}
	w.checkpoint(0, nil)
	index, digest := w.state.LastCheckpoint()
	w.checkpoint(index, digest[:])
	w.status(history.Status{Member: "n1", Start: 1, Call: 1, Return: 2, Term: 3, LeaderID: "d", Commit: 4, Applied: 4})
	w.status(history.Status{Member: "n1", Start: 1, Call: 3, Return: 4, Term: 3, LeaderID: "d", Commit: 5, Applied: 5})
	run, log := w.finish()
	v := LogAudit(run, log)
	wantVerdict(t, v, Pass, "")
	for fact, want := range map[string]int64{
		factEntries: int64(len(w.logs)), factTerms: 2, factWindows: 3, factBlocks: 9, factCheckpoints: 2, factCompared: 1, factConfigs: 2,
		factRefused: 2, factHarvests: 3, factFinal: int64(len(w.logs)),
	} {
		if v.Facts[fact] != want {
			t.Errorf("%s = %d, want %d", fact, v.Facts[fact], want)
		}
	}
}

// TestAuditOfSnapshots has snapshots with the state of the replay, and snapshots without.
func TestAuditOfSnapshots(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(w *world)
		want   string
	}{
		"the replay's state": {change: func(w *world) { w.takeSnapshot() }},
		"another index":      {func(w *world) { w.takeSnapshot(); w.snapshotAt-- }, "applied entries differently or wrote an incomplete snapshot"},
		"no state":           {func(w *world) { w.takeSnapshot(); w.snapshot[20] ^= 1 }, "that cannot be restored"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.acquire(10, "n1/0", 1)
			w.acquire(20, "n2/0", 2)
			c.change(w)
			w.append(raft.LogNoop, nil)
			w.acquire(200, "n1/0", 3)
			v := LogAudit(w.finish())
			wantVerdict(t, v, failsIf(c.want != ""), c.want)
			if v.Facts[factStates] != 3 {
				t.Errorf("LogAudit() counts %v, want 3 %s", v.Facts, factStates)
			}
		})
	}
}

// A long run without a checkpoint and a snapshot is invalid.
func TestAuditWithoutComparison(t *testing.T) {
	t.Parallel()
	for length, want := range map[time.Duration]Outcome{30 * time.Second: Pass, 2 * time.Minute: Invalid} {
		w := newWorld(t)
		w.acquire(10, "n1/0", 1)
		r, log := w.finish()
		r.Phases = map[string]int64{history.PhaseLoad: second, history.PhaseEnd: second + int64(length)}
		if v := LogAudit(r, log); v.Outcome != want {
			t.Errorf("run of %v: %+v, want %s", length, v, want)
		}
	}
}

// A violation found by package raftlog fails the audit.
func TestAuditOfViolations(t *testing.T) {
	t.Parallel()
	run, log := newWorld(t).finish()
	log.Violations = []string{"two of a kind"}
	wantVerdict(t, LogAudit(run, log), Fail, "two of a kind")
}
