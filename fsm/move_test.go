package fsm

import (
	"errors"
	"math"
	"testing"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

func move(name string) *commandv1.Command {
	return &commandv1.Command{Body: &commandv1.Command_MoveSequence{MoveSequence: &commandv1.MoveSequence{Name: name}}}
}

// newMovingLog accepts moves, too.
func newMovingLog(t *testing.T, specs ...*commandv1.SequenceSpec) *log {
	l := newSequenceLog(t, specs...)
	l.must(raise(Version))
	return l
}

func TestMovedSequences(t *testing.T) {
	l := newMovingLog(t, plain("s"), plain("down", numbers(0, -10, math.MinInt64, 100)))
	answered := l.must(withID(allocate("s", l.seq("s").Generation, 5, 0), "request")).Block
	block := l.take("s", 10, 0)
	l.take("down", 3, 0)
	l.refused(mismatchedGen, func() *commandv1.Command {
		cmd := move("s")
		cmd.GetMoveSequence().Generation = 99
		return cmd
	}())
	moved := l.must(move("s")).Sequence
	if !moved.Moved || moved.Next != 16 || moved.Generation != l.index {
		t.Fatalf("%+v, want 16 next", moved)
	}
	l.survives()
	if again := l.must(move("s")).Sequence; again.Generation != moved.Generation || again.Next != 16 {
		t.Errorf("moved again: %+v", again)
	}
	for _, cmd := range []*commandv1.Command{
		allocate("s", moved.Generation, 1, 0), withID(allocate("s", moved.Generation, 1, 0), "other"), change(moved.Spec, moved.Generation),
		forced(set(moved.Spec, moved.Generation, 500)), remove("s"), create(plain("s"), 0), forced(create(plain("s"), 0)), onDemand(create(plain("s"), 0)),
	} {
		l.refused(movedAway, cmd)
	}
	l.refused(notLast, giveBack("s", block.Token, 5))
	if again := l.must(withID(allocate("s", moved.Generation, 5, 0), "request")).Block; again.First != answered.First || !again.Repeated {
		t.Errorf("the repeated request got %+v, want %+v", again, answered)
	}
	if last, _, err := l.seq("s").LastGranted(); !errors.Is(err, &Refused{Reason: movedAway}) {
		t.Errorf("the last number of a sequence that moved is %d, %v", last, err)
	}
	for n, want := range map[int64]Granting{15: Granted, 16: GrantingUnknown} {
		if got := l.Granting("s", 0, n); got != want {
			t.Errorf("Granting(%d) = %v, want %v", n, got, want)
		}
	}

	l.refused(invalidArgument, resume("s", moved.Generation, nil, 1000))
	l.refused(mismatchedGen, resume("s", moved.Generation+1, new(int64(20)), 0))
	l.refused(invalidArgument, resume("s", moved.Generation, new(int64(math.MaxInt64)), 0))
	l.refused(invalidArgument, resume("s", moved.Generation, new(int64(20)), math.MaxUint64))
	if q := l.must(resume("s", moved.Generation, new(int64(20)), 5)).Sequence; q.Moved || q.Next != 26 {
		t.Errorf("%+v, want 26 next", q)
	}
	l.survives()
	l.refused(wouldRepeats, set(plain("s"), l.seq("s").Generation, 17))
	l.gives("s", 1, 0, 26, 1)
	if q := l.must(move("down")).Sequence; q.Next != -30 {
		t.Errorf("%+v, want -30 next", q)
	}
	if q := l.must(resume("down", l.seq("down").Generation, new(int64(-41)), 1)).Sequence; q.Next != -60 {
		t.Errorf("%+v, want -60 next", q)
	}
}

// TestMoveBeyondGranted moves a sequence of which numbers were forced to repeat, and takes one back from a system that issued none.
func TestMoveBeyondGranted(t *testing.T) {
	l := newMovingLog(t, plain("s"), plain("down", numbers(100, -3, -1000, 100)))
	for name, back := range map[string]int64{"s": 3, "down": 97} {
		l.take(name, 10, 0)
		l.must(forced(set(l.seq(name).Spec, l.seq(name).Generation, back)))
		l.take(name, 2, 0)
	}
	for name, want := range map[string]int64{"s": 11, "down": 70} {
		if q := l.must(move(name)).Sequence; q.Next != want {
			t.Errorf("%+v, want %d next", q, want)
		}
		if q := l.must(resume(name, l.seq(name).Generation, new(l.seq(name).Spec.GetStart()), 0)).Sequence; q.Next != want {
			t.Errorf("%+v, want %d next", q, want)
		}
	}
}

// TestMoveRefuses moves sequences that another system cannot continue.
func TestMoveRefuses(t *testing.T) {
	l := newMovingLog(t, plain("end", numbers(1, 1, 1, 3)), plain("last", numbers(math.MaxInt64, 1, 1, math.MaxInt64)), plain("frozen"))
	l.must(create(plain("days", resetting(resetDaily)), 20250101))
	l.must(create(plain("bills", func(s *commandv1.SequenceSpec) { s.Mode = gapless }), 0))
	l.take("end", 3, 0)
	l.take("last", 1, 0)
	l.refused(exhaustedReas, move("end"))
	l.refused(exhaustedReas, move("last"))
	l.refused(invalidArgument, move("days"))
	l.refused(invalidArgument, move("bills"))
	l.refused(unknownSeq, move("no"))
	l.restore(nil)
	l.refused(frozen, move("frozen"))
}

// TestMovesSurviveRestores restores a cluster whose sequence was at another system, in the log or at some index of it.
func TestMovesSurviveRestores(t *testing.T) {
	for name, tail := range map[string][]*commandv1.Command{
		"moved":      {move("s")},
		"taken back": {move("s"), nil},
	} {
		l := newMovingLog(t, plain("s"))
		l.take("s", 5, 0)
		if len(tail) > 1 {
			tail[1] = resume("s", l.index+1, new(int64(7)), 0)
		}
		after, _ := l.replayed(tail...)
		after.restore(nil)
		q := after.seq("s")
		if !q.Frozen || !q.Moved {
			t.Errorf("%s: %+v, want a sequence that is frozen and at another system", name, q)
		}
		after.refused(invalidArgument, resume("s", q.Generation, nil, 1000))
		if q := after.must(resume("s", q.Generation, new(int64(9)), 0)).Sequence; q.Next != 10 || q.Moved || q.Frozen {
			t.Errorf("%s: %+v, want 10 next", name, q)
		}
		after.survives()

		other := mustRead(t, snapshotBytes(t, l.State))
		l.must(move("s"))
		if err := other.Merge(l.State); err != nil {
			t.Fatal(err)
		}
		if q, _ := other.Sequence("s"); !q.Moved {
			t.Errorf("merged: %+v, want a sequence at another system", q)
		}
	}
}
