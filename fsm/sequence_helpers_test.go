package fsm

import (
	"math"
	"testing"

	"google.golang.org/protobuf/proto"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

const (
	wouldRepeats   = commandv1.Refusal_REFUSAL_WOULD_REPEAT
	exhaustedReas  = commandv1.Refusal_REFUSAL_SEQUENCE_EXHAUSTED
	notLast        = commandv1.Refusal_REFUSAL_NOT_LAST_BLOCK
	unknownSeq     = commandv1.Refusal_REFUSAL_UNKNOWN_SEQUENCE
	mismatchedGen  = commandv1.Refusal_REFUSAL_GENERATION_MISMATCH
	limitReached   = commandv1.Refusal_REFUSAL_LIMIT_REACHED
	overloaded     = commandv1.Refusal_REFUSAL_OVERLOADED
	idReused       = commandv1.Refusal_REFUSAL_REQUEST_ID_REUSED
	sequenceExists = commandv1.Refusal_REFUSAL_SEQUENCE_EXISTS
	redisCreateOff = commandv1.Refusal_REFUSAL_REDIS_CREATE_OFF

	resetNone      = commandv1.SequenceReset_SEQUENCE_RESET_NONE
	resetDaily     = commandv1.SequenceReset_SEQUENCE_RESET_DAILY
	resetWeekly    = commandv1.SequenceReset_SEQUENCE_RESET_WEEKLY
	resetMonthly   = commandv1.SequenceReset_SEQUENCE_RESET_MONTHLY
	resetQuarterly = commandv1.SequenceReset_SEQUENCE_RESET_QUARTERLY
	resetYearly    = commandv1.SequenceReset_SEQUENCE_RESET_YEARLY
)

// plain returns the specification of a sequence 1, 2, 3 and so on, with changes applied.
func plain(name string, changes ...func(*commandv1.SequenceSpec)) *commandv1.SequenceSpec {
	spec := &commandv1.SequenceSpec{
		Name: name, Start: 1, Increment: 1, Min: 1, Max: math.MaxInt64,
		Mode: commandv1.SequenceMode_SEQUENCE_MODE_RELAXED, Reset_: resetNone,
		BlockDurationMs: 10_000, MinBlock: 100, MaxBlock: 10_000_000, TimeZone: "UTC",
	}
	for _, change := range changes {
		change(spec)
	}
	return spec
}

// numbers changes which numbers a sequence has.
func numbers(start, increment, least, most int64) func(*commandv1.SequenceSpec) {
	return func(s *commandv1.SequenceSpec) { s.Start, s.Increment, s.Min, s.Max = start, increment, least, most }
}

func resetting(r commandv1.SequenceReset) func(*commandv1.SequenceSpec) {
	return func(s *commandv1.SequenceSpec) { s.Reset_ = r }
}

// years changes the day on which years start.
func years(starts uint32) func(*commandv1.SequenceSpec) {
	return func(s *commandv1.SequenceSpec) { s.YearStarts = starts }
}

func create(spec *commandv1.SequenceSpec, period int32) *commandv1.Command {
	return &commandv1.Command{Body: &commandv1.Command_CreateSequence{
		CreateSequence: &commandv1.CreateSequence{Spec: spec, Period: period},
	}}
}

func change(spec *commandv1.SequenceSpec, generation uint64) *commandv1.Command {
	return &commandv1.Command{Body: &commandv1.Command_UpdateSequence{
		UpdateSequence: &commandv1.UpdateSequence{Spec: spec, Generation: generation},
	}}
}

func set(spec *commandv1.SequenceSpec, generation uint64, next int64) *commandv1.Command {
	cmd := change(spec, generation)
	cmd.GetUpdateSequence().Next = new(next)
	return cmd
}

// forced forces a creation or an update.
func forced(cmd *commandv1.Command) *commandv1.Command {
	if c := cmd.GetCreateSequence(); c != nil {
		c.Force = true
	} else {
		cmd.GetUpdateSequence().Force = true
	}
	return cmd
}

// onDemand lets the configuration decide about a creation.
func onDemand(cmd *commandv1.Command) *commandv1.Command {
	cmd.GetCreateSequence().OnDemand = true
	return cmd
}

func remove(name string) *commandv1.Command {
	return &commandv1.Command{Body: &commandv1.Command_DeleteSequence{DeleteSequence: &commandv1.DeleteSequence{Name: name}}}
}

// returnKeyHash is the hash of the return key of the blocks that tests allocate and return.
var returnKeyHash = nonceHash('r')

func allocate(name string, generation, count uint64, period int32) *commandv1.Command {
	return &commandv1.Command{Body: &commandv1.Command_AllocateBlock{AllocateBlock: &commandv1.AllocateBlock{
		Name: name, Generation: generation, Count: count, Period: period, ReturnKeyHash: returnKeyHash,
	}}}
}

// withID gives an allocation a request ID.
func withID(cmd *commandv1.Command, id string) *commandv1.Command {
	cmd.GetAllocateBlock().RequestId, cmd.GetAllocateBlock().ReturnKeyHash = []byte(id), nil
	cmd.Actor = &commandv1.Actor{Kind: commandv1.ActorKind_ACTOR_KIND_OPEN}
	return cmd
}

// whole makes an allocation one of all numbers or none.
func whole(cmd *commandv1.Command) *commandv1.Command {
	cmd.GetAllocateBlock().Whole = true
	return cmd
}

func giveBack(name string, token, unused uint64) *commandv1.Command {
	return &commandv1.Command{Body: &commandv1.Command_ReturnBlock{
		ReturnBlock: &commandv1.ReturnBlock{Name: name, Token: token, Unused: unused, ReturnKeyHash: returnKeyHash},
	}}
}

// withKey gives an allocation or a return another key.
func withKey(cmd *commandv1.Command, hash []byte) *commandv1.Command {
	if c := cmd.GetAllocateBlock(); c != nil {
		c.ReturnKeyHash = hash
	} else {
		cmd.GetReturnBlock().ReturnKeyHash = hash
	}
	return cmd
}

// newSequenceLog accepts the commands of sequences.
func newSequenceLog(t testing.TB, specs ...*commandv1.SequenceSpec) *log {
	l := newLog(t)
	for _, spec := range specs {
		l.must(create(spec, 0))
	}
	return l
}

// seq returns a sequence, which must exist.
func (l *log) seq(name string) Sequence {
	l.t.Helper()
	q, ok := l.Sequence(name)
	if !ok {
		l.t.Fatalf("there is no sequence %q", name)
	}
	return q
}

// take allocates a block with the present generation.
func (l *log) take(name string, count uint64, period int32) BlockGrant {
	l.t.Helper()
	return l.must(allocate(name, l.seq(name).Generation, count, period)).Block
}

// gives expects a block with a first number and a count.
func (l *log) gives(name string, asked uint64, period int32, first int64, count uint64) BlockGrant {
	l.t.Helper()
	b := l.take(name, asked, period)
	q := l.seq(name)
	if b.First != first || b.Count != count || b.Increment != q.Spec.GetIncrement() || b.Token != l.index {
		l.t.Fatalf("%d of %q returned %+v, want %d from %d on", asked, name, b, count, first)
	}
	return b
}

// empty expects that a sequence has no number left.
func (l *log) empty(name string, period int32) {
	l.t.Helper()
	l.refused(exhaustedReas, allocate(name, l.seq(name).Generation, 1, period))
	if q := l.seq(name); q.Remaining != 0 || q.Next != 0 {
		l.t.Fatalf("%+v, want no numbers left", q)
	}
}

// survives restores the state from its snapshot and expects the same.
func (l *log) survives() {
	l.t.Helper()
	back, err := ReadState(readerOf(snapshotBytes(l.t, l.State)), Version)
	if err != nil || back.Digest() != l.Digest() {
		l.t.Fatalf("restored: %v", err)
	}
	l.State = back
}

// onlyDescribes reports whether two specifications differ in nothing but the description.
func onlyDescribes(before, after *commandv1.SequenceSpec) bool {
	described := proto.CloneOf(after)
	described.Description = before.GetDescription()
	return proto.Equal(described, before)
}
