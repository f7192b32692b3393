package raftlog_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/hashicorp/raft"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"

	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/jepsen/raftlog"
	"github.com/snowraft/snowraft/snowflake"
)

const epoch = int64(1_735_689_600_000)

var tiny = snowflake.Spec{
	Name: "tiny", UnitMillis: 10, EpochMillis: epoch, Fields: []snowflake.FieldBits{
		{Field: snowflake.FieldTime, Bits: 30}, {Field: snowflake.FieldWorker, Bits: 1}, {Field: snowflake.FieldSequence, Bits: 4},
	},
}

// commands returns entries with these commands, from index 1 on.
func commands(t *testing.T, cmds ...*commandv1.Command) (logs []*raft.Log) {
	t.Helper()
	for i, cmd := range cmds {
		cmd.Version = fsm.MinVersion(cmd)
		raw, err := fsm.Encode(cmd)
		if err != nil {
			t.Fatal(err)
		}
		logs = append(logs, &raft.Log{Index: uint64(i) + 1, Term: 1, Type: raft.LogCommand, Data: raw})
	}
	return logs
}

func TestGrants(t *testing.T) {
	t.Parallel()
	nonce := bytes.Repeat([]byte{7}, 32)
	at := func(tick int64) int64 { return epoch + 10*tick }
	layout := &commandv1.Command{ClockAtMs: epoch, Body: &commandv1.Command_CreateLayout{CreateLayout: &commandv1.CreateLayout{Spec: fsm.LayoutSpec(tiny)}}}
	acquire := func(now int64) *commandv1.Command {
		return &commandv1.Command{ClockAtMs: now, Body: &commandv1.Command_AcquireWorker{AcquireWorker: &commandv1.AcquireWorker{
			Layout: "tiny", Holder: "n1/0", NonceHash: nonce, WindowMs: 1000,
		}}}
	}
	id := uint64(0)
	extend := func(until int64) *commandv1.Command {
		id++
		return &commandv1.Command{ClockAtMs: at(60), Body: &commandv1.Command_ExtendWindow{ExtendWindow: &commandv1.ExtendWindow{
			Layout: "tiny", Token: 2, NonceHash: nonce, UntilTick: until, WindowMs: 1000, ExtensionId: id,
		}}}
	}
	key := func(request string) []byte {
		if request != "" {
			return nil
		}
		return nonce
	}
	allocate := func(request string) *commandv1.Command {
		return &commandv1.Command{ClockAtMs: epoch, Actor: &commandv1.Actor{Kind: commandv1.ActorKind_ACTOR_KIND_OPEN}, Body: &commandv1.Command_AllocateBlock{AllocateBlock: &commandv1.AllocateBlock{
			Name: "s", Count: 10, Generation: 10, RequestId: []byte(request), ReturnKeyHash: key(request),
		}}}
	}
	logs := commands(t,
		layout,          // 1
		acquire(at(10)), // 2: grants ticks 10 to 110
		extend(110),     // 3: extends to 160
		extend(110),     // 4: refused
		&commandv1.Command{ClockAtMs: at(90), Body: &commandv1.Command_ReleaseWorker{ReleaseWorker: &commandv1.ReleaseWorker{
			Layout: "tiny", Token: 2, NonceHash: nonce, UntilTick: 160, NextTick: 90,
		}}}, // 5
		acquire(at(80)), // 6: grants another worker
		acquire(at(90)), // 7: grants ticks from 90 on
		&commandv1.Command{ClockAtMs: at(100), Body: &commandv1.Command_ObserveClock{ObserveClock: &commandv1.ObserveClock{}}},               // 8
		&commandv1.Command{ClockAtMs: epoch, Body: &commandv1.Command_RaiseVersion{RaiseVersion: &commandv1.RaiseVersion{Version: 2}}},       // 9
		&commandv1.Command{ClockAtMs: epoch, Body: &commandv1.Command_CreateSequence{CreateSequence: &commandv1.CreateSequence{Spec: spec}}}, // 10
		allocate(""), // 11
		&commandv1.Command{ClockAtMs: epoch, Body: &commandv1.Command_ReturnBlock{ReturnBlock: &commandv1.ReturnBlock{Name: "s", Token: 11, Unused: 4, ReturnKeyHash: nonce}}}, // 12
		allocate("id"), // 13
		allocate("id"), // 14
		&commandv1.Command{ClockAtMs: epoch, Body: &commandv1.Command_Checkpoint{Checkpoint: &commandv1.Checkpoint{}}},                               // 15
		&commandv1.Command{ClockAtMs: epoch, Body: &commandv1.Command_Checkpoint{Checkpoint: &commandv1.Checkpoint{Index: 15, Digest: digestOf(0)}}}, // 16
		&commandv1.Command{ClockAtMs: epoch, Body: &commandv1.Command_SetConfig{SetConfig: &commandv1.SetConfig{Config: &commandv1.Config{
			MaxWindowMs: 2000, WaitThresholdMs: 500, MaxClockOffsetMs: 100, Rollback: commandv1.RollbackPolicy_ROLLBACK_POLICY_REFUSE,
			RedisCreate: commandv1.AutoCreate_AUTO_CREATE_OFF,
			Upgrades:    commandv1.Upgrades_UPGRADES_AUTO,
		}}}}, // 17
	)
	logs = append(logs, &raft.Log{Index: 18, Term: 1, Type: raft.LogCommand, Data: []byte("nonsense")})
	r := newRun(t)
	r.harvest("n1", dataDir(t, logs...))
	l := r.open()
	g, err := l.Grants()
	if err != nil {
		t.Fatal(err)
	}
	first, second := g.Windows[raftlog.Lane{Layout: "tiny"}], g.Windows[raftlog.Lane{Layout: "tiny", Worker: 1}]
	if len(first) != 2 || len(second) != 1 || first[0].Token != 2 || first[0].From != 10 || first[0].Until != 90 || !first[0].Released ||
		first[1].From != 90 || first[1].Released || second[0].Token != 6 || !bytes.Equal(first[0].NonceHash[:], nonce) || first[0].Holder != "n1/0" {
		t.Errorf("windows of worker 0 = %+v, of worker 1 = %+v", first, second)
	}
	if want := []raftlog.Block{
		{Index: 11, First: 1, Count: 10, Increment: 1, Returned: 4},
		{Index: 13, First: 7, Count: 10, Increment: 1, RequestID: "id"},
		{Index: 14, First: 7, Count: 10, Increment: 1, RequestID: "id", Repeated: true},
	}; !slices.Equal(g.Blocks["s"], want) {
		t.Errorf("blocks = %+v, want %+v", g.Blocks["s"], want)
	}
	if len(g.Layouts) != 1 || g.Layouts["tiny"].Workers() != 2 {
		t.Errorf("layouts = %+v, want tiny with 2 workers", g.Layouts)
	}
	var checkpoints []raftlog.Checkpoint
	for a, err := range l.Replay() {
		if err != nil {
			t.Fatal(err)
		}
		if check := a.Command.GetCheckpoint(); check != nil {
			checkpoints = append(checkpoints, raftlog.CheckpointOf(&a, check))
		}
	}
	if len(checkpoints) != 2 || checkpoints[0].Compared || !checkpoints[0].Matches() || !checkpoints[1].Compared || checkpoints[1].Matches() {
		t.Errorf("checkpoints = %+v, want the first not compared and the second different", checkpoints)
	}
}

func digestOf(b byte) []byte { return bytes.Repeat([]byte{b}, 32) }

var spec = &commandv1.SequenceSpec{
	Name: "s", Start: 1, Increment: 1, Min: 1, Max: 1000, BlockDurationMs: 1000, MinBlock: 1, MaxBlock: 100,
	Mode: commandv1.SequenceMode_SEQUENCE_MODE_RELAXED, Reset_: commandv1.SequenceReset_SEQUENCE_RESET_NONE,
}
