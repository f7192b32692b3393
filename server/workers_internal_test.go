package server

import (
	"testing"

	"github.com/hashicorp/raft"

	"github.com/snowraft/snowraft/fsm"
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
	"github.com/snowraft/snowraft/snowflake"
)

// A worker is held until its window ends or its holder releases it.
func TestHeldWorkers(t *testing.T) {
	t.Parallel()
	const start = 1_800_000_000_000
	m, index := fsm.New(fsm.Options{}), uint64(0)
	apply := func(cmd *commandv1.Command) fsm.Result {
		t.Helper()
		index++
		cmd.ClockAtMs, cmd.Version = start, max(1, fsm.MinVersion(cmd))
		data, err := fsm.Encode(cmd)
		if err != nil {
			t.Fatal(err)
		}
		r, ok := m.Apply(&raft.Log{Index: index, Term: 1, Type: raft.LogCommand, Data: data}).(fsm.Result)
		if !ok || r.Failure() != nil || r.Halted != nil {
			t.Fatalf("%v: %v", cmd, r.Failure())
		}
		return r
	}
	apply(&commandv1.Command{Body: &commandv1.Command_CreateLayout{CreateLayout: &commandv1.CreateLayout{Spec: fsm.LayoutSpec(snowflake.Default().Spec())}}})
	hash := make([]byte, 32)
	acquire := func(holder string, window int64) fsm.Result {
		return apply(&commandv1.Command{Body: &commandv1.Command_AcquireWorker{AcquireWorker: &commandv1.AcquireWorker{
			Layout: "default", Holder: holder, NonceHash: hash, WindowMs: window,
		}}})
	}
	acquire("a/0", 2000)
	acquire("b/0", 5000)
	released := acquire("c/0", 5000).Grant
	apply(&commandv1.Command{Body: &commandv1.Command_ReleaseWorker{ReleaseWorker: &commandv1.ReleaseWorker{
		Layout: "default", Worker: released.Worker, Token: released.Token, NonceHash: hash, UntilTick: released.Until, NextTick: released.From,
	}}})
	var info fsm.LayoutInfo
	m.View(func(s *fsm.State) { info, _ = s.LayoutInfo("default") })
	if info.Used != 3 {
		t.Fatalf("%d workers were granted, want 3", info.Used)
	}
	for after, want := range map[int64]uint64{0: 2, 1999: 2, 2000: 1, 4999: 1, 5000: 0} {
		if got := heldWorkers(m, info, start+after); got != want {
			t.Errorf("%d ms later: %d workers are held, want %d", after, got, want)
		}
	}
}
