package member

import (
	"cmp"
	"context"
	"errors"
	"math"
	"testing"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"

	"github.com/snowraft/snowraft/allocator"
	"github.com/snowraft/snowraft/cluster"
)

func TestPositionsAreOrdered(t *testing.T) {
	ordered := []lastIssued{
		{},
		{known: true, number: math.MinInt64, increment: 1},
		{known: true, number: math.MaxInt64, increment: 1},
		{known: true, period: 20260101, number: 5, increment: 1},
		{known: true, period: 20260102, number: 1, increment: 1},
		{known: true, period: 20260102, number: 7, increment: 1},
		{generation: 1},
		{known: true, generation: 1, number: math.MaxInt64, increment: -3},
		{known: true, generation: 1, number: 0, increment: -3},
		{known: true, generation: 1, number: math.MinInt64, increment: -3},
		{known: true, generation: 1, period: 20260101, number: 3, increment: -3},
		{generation: 2},
		{known: true, generation: 2, number: 1, increment: 1},
	}
	for i, p := range ordered {
		for k, q := range ordered {
			if p.before(q) != (cmp.Compare(i, k) < 0) {
				t.Errorf("%+v before %+v: %v", p, q, p.before(q))
			}
		}
	}
}

func createStrict(t *testing.T, m *Member, name string) {
	t.Helper()
	create(t, m, name, commandv1.SequenceMode_SEQUENCE_MODE_STRICT)
}

func create(t *testing.T, m *Member, name string, mode commandv1.SequenceMode) {
	t.Helper()
	if _, err := m.CreateSequence(t.Context(), &commandv1.SequenceSpec{
		Name: name, Start: 1, Increment: 1, Min: 1, Max: math.MaxInt64, BlockDurationMs: 1000, MinBlock: 10, MaxBlock: 100,
		Mode: mode, Reset_: commandv1.SequenceReset_SEQUENCE_RESET_NONE,
	}, Force{}); err != nil {
		t.Fatal(err)
	}
}

// strictOf returns a leader's strict sequence of a name.
func strictOf(t *testing.T, lt *leaderTerm, name string) *strictSequence {
	t.Helper()
	now, err := lt.m.Sequence(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return lt.sequence(name, now.Incarnation)
}

// A call that began in an earlier term of this member's must not answer in a later
// one: the later term knows nothing of the numbers that it issued.
func TestLeaderTermEnds(t *testing.T) {
	m := openOne(t)
	createStrict(t, m, "s")
	past := newLeaderTerm(m)
	past.term--
	s := strictOf(t, past, "s")
	if n, err := s.next(t.Context(), 1); !errors.Is(err, cluster.ErrNotLeader) {
		t.Errorf("a number: %+v, %v", n, err)
	}
	// With an ID the numbers were granted, and a repetition gets them.
	if n, err := s.record(anyone(t), 1, "r"); !errors.Is(err, cluster.ErrUnknownOutcome) {
		t.Errorf("a number for a request with an ID: %+v, %v", n, err)
	}
	if last, ok, err := s.last(t.Context()); !errors.Is(err, cluster.ErrNotLeader) {
		t.Errorf("the last number: %d, %v, %v", last, ok, err)
	}
	if n, err := s.record(anyone(t), 1, "r"); !errors.Is(err, cluster.ErrNotLeader) {
		t.Errorf("a number for a request with an ID: %+v, %v", n, err)
	}
	granted, err := m.Sequence(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	n, err := m.NextAtLeader(t.Context(), "s", 1, "")
	if err != nil || n.First <= granted.Last {
		t.Errorf("the next number: %+v, %v, after %d was granted", n, err, granted.Last)
	}
	if last, ok, err := m.LastAtLeader(t.Context(), "s"); err != nil || !ok || last != n.First {
		t.Errorf("the last number: %d, %v, %v", last, ok, err)
	}
}

// The member loses leadership and wins it again while a return waits to be proposed. The later term
// counts the block as issued, so that the log refuses the return.
func TestReturnOfAnEarlierTerm(t *testing.T) {
	m := openOne(t)
	createStrict(t, m, "s")
	past := newLeaderTerm(m)
	past.term--
	granted, err := strictOf(t, past, "s").AllocateBlock(t.Context(), "s", 10, allocator.ReturnKey{})
	if err != nil {
		t.Fatal(err)
	}
	last, ok, err := m.LastAtLeader(t.Context(), "s")
	if err != nil || !ok || last != granted.First+9 {
		t.Fatalf("LastAtLeader() = %d, %v, %v, want %d", last, ok, err, granted.First+9)
	}
	if err := strictOf(t, past, "s").ReturnBlock(t.Context(), "s", granted.Token, 10, allocator.ReturnKey{}); !errors.Is(err, allocator.ErrNotLastBlock) {
		t.Errorf("ReturnBlock() = %v, want ErrNotLastBlock", err)
	}
	if n, err := m.NextAtLeader(t.Context(), "s", 1, ""); err != nil || n.First <= last {
		t.Errorf("NextAtLeader() = %+v, %v, want more than %d", n, err, last)
	}
}

// A leader that verifies first and then chooses may have been replaced in between: a later leader may have
// passed its answer already. So the answer is chosen when the verification begins.
func TestStrictAnswersAreChosenBeforeTheVerification(t *testing.T) {
	m := openOne(t)
	createStrict(t, m, "s")
	lt := newLeaderTerm(m)
	s := strictOf(t, lt, "s")
	var chosen int64
	verify := lt.led.verify
	lt.led.verify = func(ctx context.Context) error {
		chosen, _ = s.numbers.Last()
		return verify(ctx)
	}
	for want := range int64(3) {
		if n, err := s.next(t.Context(), 1); err != nil || n.First != want+1 || chosen != n.First {
			t.Errorf("next() = %d, %v; chosen when its verification began: %d, want %d", n.First, err, chosen, want+1)
		}
	}
	lt.led.verify = func(ctx context.Context) error {
		s.mu.Lock()
		later := s.gave
		s.mu.Unlock()
		later.number += 5
		s.advance(later)
		return verify(ctx)
	}
	if last, ok, err := s.last(t.Context()); err != nil || !ok || last != 3 {
		t.Errorf("last() = %d, %v, %v, want 3: the last one when the verification began", last, ok, err)
	}
}
