package check

import (
	"math"
	"testing"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"

	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/jepsen/raftlog"
)

// TestAuditOfBlocks feeds the model of sequences with commands and results, some of which break a rule.
func TestAuditOfBlocks(t *testing.T) {
	t.Parallel()
	type add func(cmd *commandv1.Command, block fsm.BlockGrant)
	allocate := func(b fsm.BlockGrant, request string) (*commandv1.Command, fsm.BlockGrant) {
		return &commandv1.Command{Body: &commandv1.Command_AllocateBlock{AllocateBlock: &commandv1.AllocateBlock{
			Name: "s", Count: 10, RequestId: []byte(request), ReturnKeyHash: worldKey(request),
		}}}, b
	}
	giveBack := func(token, unused uint64) (*commandv1.Command, fsm.BlockGrant) {
		return &commandv1.Command{Body: &commandv1.Command_ReturnBlock{ReturnBlock: &commandv1.ReturnBlock{
			Name: "s", Token: token, Unused: unused, ReturnKeyHash: worldKey(""),
		}}}, fsm.BlockGrant{}
	}
	update := func(force bool) (*commandv1.Command, fsm.BlockGrant) {
		return &commandv1.Command{Body: &commandv1.Command_UpdateSequence{UpdateSequence: &commandv1.UpdateSequence{
			Spec: sequenceSpec("s", 2, 0, 1000), Force: force,
		}}}, fsm.BlockGrant{}
	}
	late := func(b fsm.BlockGrant) (*commandv1.Command, fsm.BlockGrant) {
		return &commandv1.Command{Body: &commandv1.Command_AllocateBlock{AllocateBlock: &commandv1.AllocateBlock{
			Name: "s", Count: 10, OnlyPeriod: b.Period,
		}}}, b
	}
	// Index 2 grants 100, 102, ..., 118.
	granted := fsm.BlockGrant{First: 100, Count: 10, Increment: 2, Period: 5}
	for name, c := range map[string]struct {
		with func(add add)
		want string
	}{
		"the next":          {func(a add) { a(allocate(fsm.BlockGrant{First: 120, Count: 10, Increment: 2, Period: 5}, "")) }, ""},
		"the last again":    {func(a add) { a(allocate(fsm.BlockGrant{First: 118, Count: 10, Increment: 2, Period: 5}, "")) }, "were already granted"},
		"between":           {func(a add) { a(allocate(fsm.BlockGrant{First: 90, Count: 10, Increment: 2, Period: 5}, "")) }, "were already granted"},
		"before":            {func(a add) { a(allocate(fsm.BlockGrant{First: 80, Count: 10, Increment: 2, Period: 5}, "")) }, ""},
		"overlapping":       {func(a add) { a(allocate(fsm.BlockGrant{First: 82, Count: 10, Increment: 2, Period: 5}, "")) }, "were already granted"},
		"again when forced": {func(a add) { a(update(true)); a(allocate(granted, "")) }, ""},
		"again unforced":    {func(a add) { a(update(false)); a(allocate(granted, "")) }, "were already granted"},
		"again in a period": {func(a add) { g := granted; g.Period = 6; a(allocate(g, "")) }, ""},
		"a period before":   {func(a add) { g := granted; g.First, g.Period = 200, 4; a(allocate(g, "")) }, "period 5 had already begun"},
		"late numbers": {func(a add) {
			a(late(fsm.BlockGrant{First: 100, Count: 1, Increment: 2, Period: 4}))
			a(late(fsm.BlockGrant{First: 102, Count: 1, Increment: 2, Period: 4}))
			a(giveBack(2, 1)) // the block of the present period
		}, ""},
		"late numbers again": {func(a add) {
			a(late(fsm.BlockGrant{First: 100, Count: 2, Increment: 2, Period: 4}))
			a(late(fsm.BlockGrant{First: 102, Count: 1, Increment: 2, Period: 4}))
		}, "were already granted"},
		"another increment": {func(a add) { g := granted; g.First, g.Increment = 200, 3; a(allocate(g, "")) }, "the sequence's increment is 2"},
		"too many":          {func(a add) { g := granted; g.First, g.Count = 200, 11; a(allocate(g, "")) }, "the request was for 10"},
		"beyond the bounds": {func(a add) { g := granted; g.First = 990; a(allocate(g, "")) }, "expected numbers from 0 to 1000"},
		"beyond 64 bits":    {func(a add) { g := granted; g.First = math.MaxInt64 - 17; a(allocate(g, "")) }, "is empty or exceeds 64 bits"},
		"none":              {func(a add) { g := granted; g.Count = 0; a(allocate(g, "")) }, "is empty or exceeds 64 bits"},
		"returned": {func(a add) {
			a(giveBack(2, 9))
			a(allocate(fsm.BlockGrant{First: 102, Count: 10, Increment: 2, Period: 5}, ""))
		}, ""},
		"all returned":      {func(a add) { a(giveBack(2, 10)); a(allocate(granted, "")) }, ""},
		"less was returned": {func(a add) { a(giveBack(2, 9)); a(allocate(granted, "")) }, "were already granted"},
		"returned twice":    {func(a add) { a(giveBack(2, 1)); a(giveBack(2, 1)) }, "not the end of its last block"},
		"too much returned": {func(a add) { a(giveBack(2, 11)) }, "not the end of its last block"},
		"another returned":  {func(a add) { a(giveBack(1, 1)) }, "not the end of its last block"},
		"another's key": {func(a add) {
			cmd, none := giveBack(2, 1)
			cmd.GetReturnBlock().ReturnKeyHash = worldNonce(1)
			a(cmd, none)
		}, "not the end of its last block"},
		"an answer repeated": {func(a add) {
			g := granted
			g.First = 120
			a(allocate(g, "id"))
			g.Repeated = true
			a(allocate(g, "id"))
		}, ""},
		"another answer": {func(a add) {
			g := granted
			g.First = 120
			a(allocate(g, "id"))
			g.First, g.Repeated = 122, true
			a(allocate(g, "id"))
		}, "never sent"},
		"an answer returned": {func(a add) {
			g := granted
			g.First = 120
			a(allocate(g, "id"))
			a(giveBack(3, 1))
		}, "not the end of its last block"},
		"deleted": {func(a add) {
			a(&commandv1.Command{Body: &commandv1.Command_DeleteSequence{DeleteSequence: &commandv1.DeleteSequence{Name: "s"}}}, fsm.BlockGrant{})
			a(allocate(granted, ""))
		}, "the sequence does not exist"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newVerdict("x")
			a, index := newAudit(v), uint64(0)
			add := func(cmd *commandv1.Command, block fsm.BlockGrant) {
				index++
				a.take(&raftlog.Applied{Entry: raftlog.Entry{Index: index, Term: 1}, Command: cmd, Result: fsm.Result{Block: block}})
			}
			add(&commandv1.Command{Body: &commandv1.Command_CreateSequence{CreateSequence: &commandv1.CreateSequence{Spec: sequenceSpec("s", 2, 0, 1000), Period: 5}}}, fsm.BlockGrant{})
			add(allocate(granted, ""))
			c.with(add)
			v.Summary = "-"
			if c.want == "" {
				wantVerdict(t, *v, Pass, "")
			} else {
				wantVerdict(t, *v, Fail, c.want)
			}
		})
	}
}
