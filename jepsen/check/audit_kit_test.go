package check

import (
	"bytes"

	"github.com/hashicorp/raft"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"

	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/jepsen/history"
)

func sequenceSpec(name string, increment, low, high int64) *commandv1.SequenceSpec {
	start := low
	if increment < 0 {
		start = high
	}
	return &commandv1.SequenceSpec{
		Name: name, Start: start, Increment: increment, Min: low, Max: high, BlockDurationMs: 1000, MinBlock: 1, MaxBlock: 100,
		Mode: commandv1.SequenceMode_SEQUENCE_MODE_STRICT, Reset_: commandv1.SequenceReset_SEQUENCE_RESET_DAILY, TimeZone: "UTC",
	}
}

func (w *world) mustDo(now int64, cmd *commandv1.Command) fsm.Result {
	w.t.Helper()
	r := w.do(now, cmd)
	if r.Failure() != nil {
		w.t.Fatal(r.Failure())
	}
	return r
}

// worldKey returns the hash of the return key of a request's block; nil for a request with an ID.
func worldKey(request string) []byte {
	if request != "" {
		return nil
	}
	return bytes.Repeat([]byte("k"), 32)
}

func (w *world) allocate(generation, count uint64, period int32, request string) fsm.Result {
	return w.do(worldEpoch, &commandv1.Command{Actor: &commandv1.Actor{Kind: commandv1.ActorKind_ACTOR_KIND_OPEN}, Body: &commandv1.Command_AllocateBlock{AllocateBlock: &commandv1.AllocateBlock{
		Name: "s", Count: count, Generation: generation, Period: period, RequestId: []byte(request), ReturnKeyHash: worldKey(request),
	}}})
}

func (w *world) giveBack(token, unused uint64) fsm.Result {
	return w.do(worldEpoch, &commandv1.Command{Body: &commandv1.Command_ReturnBlock{ReturnBlock: &commandv1.ReturnBlock{
		Name: "s", Token: token, Unused: unused, ReturnKeyHash: worldKey(""),
	}}})
}

func (w *world) checkpoint(index uint64, digest []byte) fsm.Result {
	return w.do(worldEpoch, &commandv1.Command{Body: &commandv1.Command_Checkpoint{Checkpoint: &commandv1.Checkpoint{Index: index, Digest: digest}}})
}

func configuration(voters ...string) []byte {
	var c raft.Configuration
	for _, v := range voters {
		c.Servers = append(c.Servers, raft.Server{Suffrage: raft.Voter, ID: raft.ServerID(v), Address: raft.ServerAddress(v)})
	}
	c.Servers = append(c.Servers, raft.Server{Suffrage: raft.Nonvoter, ID: "nonvoter", Address: "x"})
	return raft.EncodeConfiguration(c)
}

func (w *world) status(s history.Status) { w.line(history.Line{Status: &s}) }
