package fsm

import (
	"fmt"
	"math"
	"strings"
	"testing"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

func TestAllocateBlock(t *testing.T) {
	l := newSequenceLog(t, plain("s", numbers(1, 3, -100, 20)))
	generation := l.seq("s").Generation
	l.must(at(epoch, observe(false)))
	if b := l.gives("s", 2, 0, 1, 2); b.Generation != generation || b.AtMillis != epoch || b.Period != 0 || b.Repeated {
		t.Errorf("%+v", b)
	}
	if q := l.seq("s"); q.Next != 7 || q.Remaining != 5 || !q.HasLast || q.Last != 4 || q.Generation != generation {
		t.Errorf("%+v", q)
	}
	l.refused(mismatchedGen, allocate("s", generation+1, 1, 0))
	l.refused(invalidArgument, allocate("s", generation, 0, 0))
	l.refused(invalidArgument, allocate("s", generation, 1<<63+1, 0))
	l.refused(invalidArgument, allocate("s", generation, 1, 20250101))
	l.refused(invalidArgument, withID(allocate("s", generation, 1, 0), strings.Repeat("x", 65)))
	l.refused(exhaustedReas, whole(allocate("s", generation, 6, 0)))
	l.gives("s", 1<<63, 0, 7, 5)
	l.empty("s", 0)
	if q := l.seq("s"); q.Last != 19 || !q.HasLast {
		t.Errorf("%+v", q)
	}
	l.survives()
	l.empty("s", 0)
}

// TestEndsOfInt64 walks up to both ends of int64 in steps of all sizes.
func TestEndsOfInt64(t *testing.T) {
	for _, increment := range []int64{1, 2, 3, 1 << 32, 1 << 62, math.MaxInt64, -1, -2, -3, -1 << 32, -1 << 62, math.MinInt64} {
		for _, before := range []uint64{0, 1, 2, 5} { // count of numbers before the last one
			for _, slack := range []int64{0, 1} { // distance of the last one from the end
				end, inward := int64(math.MaxInt64)-slack, -uint64(increment)
				if increment < 0 {
					end = math.MinInt64 + slack
				}
				start := int64(uint64(end) + before*inward)
				if capacity(start, increment, math.MinInt64, math.MaxInt64) != before+1 {
					continue // start beyond the other end
				}
				l := newSequenceLog(t, plain("s", numbers(start, increment, math.MinInt64, math.MaxInt64)))
				for i := range before {
					l.gives("s", 1, 0, numberAt(start, i, increment), 1)
				}
				l.gives("s", 1000, 0, end, 1)
				l.empty("s", 0)
				l.survives()
				l.empty("s", 0)
			}
		}
	}
	l := newSequenceLog(t, plain("all", numbers(math.MinInt64, 1, math.MinInt64, math.MaxInt64)))
	if q := l.seq("all"); q.Remaining != math.MaxUint64 {
		t.Errorf("%+v", q)
	}
	l.gives("all", 1<<63, 0, math.MinInt64, 1<<63)
	l.gives("all", 1<<63, 0, 0, 1<<63-1) // one of all 2^64 is never granted
	l.empty("all", 0)
	l.survives()
	// Nothing follows the last number of all, and what precedes it was granted.
	q := l.seq("all")
	l.must(change(plain("all", numbers(0, 5, math.MinInt64, math.MaxInt64)), q.Generation))
	l.gives("all", 10, 0, math.MaxInt64, 1)
	q = l.seq("all")
	l.must(change(plain("all", numbers(0, 1, math.MinInt64, math.MaxInt64)), q.Generation))
	l.empty("all", 0)
	if q := l.seq("all"); !q.HasLast || q.Last != math.MaxInt64 {
		t.Errorf("%+v", q)
	}
	l.survives()
}

func TestPeriods(t *testing.T) {
	l := newSequenceLog(t)
	l.must(create(plain("s", resetting(resetDaily), numbers(1, 1, 1, 5)), 20250101))
	generation := l.seq("s").Generation
	revision := l.sequenceRevision
	l.gives("s", 3, 20250101, 1, 3)
	if l.sequenceRevision != revision {
		t.Error("a block counts as a change")
	}
	if b := l.gives("s", 3, 20241231, 4, 2); b.Period != 20250101 {
		t.Errorf("%+v, but the period moved backwards", b)
	}
	l.empty("s", 20250101)
	l.refused(exhaustedReas, whole(allocate("s", generation, 6, 20250102))) // and no period begins
	l.refused(invalidArgument, allocate("s", generation, 6, 0))
	if b := l.gives("s", 2, 20250103, 1, 2); b.Period != 20250103 || l.sequenceRevision != revision+1 {
		t.Errorf("%+v, revision %d", b, l.sequenceRevision)
	}
	l.gives("s", 1, 20250102, 3, 1)
	if q := l.seq("s"); q.Period != 20250103 || q.Generation != generation || q.Last != 3 {
		t.Errorf("%+v", q)
	}
	l.survives()
}

func TestReturnBlock(t *testing.T) {
	for _, increment := range []int64{1, -1, 7, -7} {
		t.Run(fmt.Sprint(increment), func(t *testing.T) {
			spec := plain("s", numbers(0, increment, -1000, 1000))
			l := newSequenceLog(t, spec)
			first := l.take("s", 10, 0)
			second := l.take("s", 10, 0)
			for _, cmd := range []*commandv1.Command{
				giveBack("s", first.Token, 1), giveBack("s", 0, 1), giveBack("s", second.Token, 0),
				giveBack("s", second.Token, 11), giveBack("s", second.Token, math.MaxUint64),
			} {
				l.refused(notLast, cmd)
			}
			l.must(giveBack("s", second.Token, 6))
			l.refused(notLast, giveBack("s", second.Token, 1))
			l.survives()
			q := l.seq("s")
			l.must(change(plain("s", numbers(0, 2*increment, -1000, 1000)), q.Generation)) // nothing was granted beyond
			l.gives("s", 1, 0, 14*increment, 1)
			third := l.take("s", 10, 0)
			l.must(giveBack("s", third.Token, 10)) // all of it
			l.gives("s", 1, 0, 16*increment, 1)
			q = l.seq("s")
			last := l.take("s", 5, 0)
			q.Spec.MinBlock = 7
			l.must(change(q.Spec, q.Generation)) // makes it unreturnable
			l.refused(notLast, giveBack("s", last.Token, 1))
			l.survives()
		})
	}
}

// TestReturnInAForcedPast: numbers ahead of a block may have been granted before, so
// the hull that is left after its return would not be known.
func TestReturnInAForcedPast(t *testing.T) {
	l := newSequenceLog(t, plain("s"))
	l.take("s", 50, 0)
	l.must(forced(set(plain("s"), l.seq("s").Generation, 1)))
	b := l.gives("s", 60, 0, 1, 60)
	l.refused(notLast, giveBack("s", b.Token, 59))
	l.refused(wouldRepeats, set(plain("s"), l.seq("s").Generation, 50))
	b = l.gives("s", 60, 0, 61, 60)
	l.must(giveBack("s", b.Token, 60))
	l.refused(wouldRepeats, set(plain("s"), l.seq("s").Generation, 60))
	l.must(set(plain("s"), l.seq("s").Generation, 61))
}

func TestReturnAllOfAPeriod(t *testing.T) {
	l := newSequenceLog(t)
	spec := plain("s", resetting(resetDaily))
	l.must(create(spec, 20250101))
	l.take("s", 10, 20250101)
	b := l.take("s", 10, 20250102)
	l.must(giveBack("s", b.Token, 10))
	l.must(change(plain("s", resetting(resetDaily), numbers(1, 2, 1, 50)), l.seq("s").Generation))
	l.must(remove("s"))
	l.refused(wouldRepeats, create(plain("s"), 0)) // the day before is not forgotten altogether
	l.must(create(spec, 20250102))
	l.survives()
}

func TestAnswers(t *testing.T) {
	l := newSequenceLog(t, plain("s", numbers(1, 1, 1, 100)), plain("other"))
	l.must(at(epoch, observe(false)))
	generation := l.seq("s").Generation
	first := l.must(withID(allocate("s", generation, 10, 0), "r1")).Block
	if first.First != 1 || first.Repeated || first.Token != l.index {
		t.Errorf("%+v", first)
	}
	l.refused(notLast, giveBack("s", first.Token, 5))
	repeated := func(cmd *commandv1.Command) {
		t.Helper()
		before := l.Digest()
		b := l.must(cmd).Block
		want := first
		want.Token, want.Repeated = l.index, true
		if b != want || l.Digest() != before {
			t.Errorf("%+v, want %+v", b, want)
		}
	}
	l.must(at(epoch+600_000, observe(false)))
	l.must(change(plain("s", numbers(1, 1, 1, 50)), generation))
	repeated(withID(allocate("s", 0, 10, 20250101), "r1")) // whatever its generation and period
	l.refused(idReused, withID(allocate("s", generation, 11, 0), "r1"))
	l.refused(idReused, withID(allocate("s", generation, 9, 0), "r1"))
	if b := l.must(withID(allocate("other", l.seq("other").Generation, 10, 0), "r1")).Block; b.Repeated {
		t.Errorf("%+v, but the request was for another sequence", b)
	}
	l.survives()
	repeated(withID(allocate("s", 0, 10, 0), "r1"))
	l.must(at(epoch-5000, observe(true)))
	repeated(withID(allocate("s", 0, 10, 0), "r1")) // is not old because it is of the future

	// The end of the numbers may make a block short, also when the block is requested again.
	generation = l.seq("s").Generation
	first = l.must(withID(allocate("s", generation, 1000, 0), "r2")).Block
	if first.Count != 40 {
		t.Errorf("%+v", first)
	}
	repeated(withID(allocate("s", generation, 1000, 0), "r2"))
	l.refused(idReused, whole(withID(allocate("s", generation, 1000, 0), "r2")))

	l.must(at(epoch+2*600_000+1, observe(false)))
	l.refused(exhaustedReas, withID(allocate("s", generation, 10, 0), "r1"))
	l.must(withID(allocate("other", l.seq("other").Generation, 10, 0), "r1"))
	if n := len(l.answers.kept()); n != 1 {
		t.Errorf("%d answers are remembered", n)
	}
	l.must(remove("s"))
	l.must(create(plain("s", numbers(51, 1, 1, 100)), 0))
	if b := l.must(withID(allocate("s", l.seq("s").Generation, 10, 0), "r2")).Block; b.Repeated || b.First != 51 {
		t.Errorf("%+v, but it answers for the deleted one", b)
	}
}

// While no member leads, the observed clock stands still. In a new cluster, and in one that was down for
// long, answers from before the clock moves again must be remembered too.
func TestAnswersBeforeTheClockIsObserved(t *testing.T) {
	l := newSequenceLog(t, plain("s"))
	ask := withID(allocate("s", l.seq("s").Generation, 1, 0), "r")
	for _, now := range []int64{epoch, epoch + 100*answerMillis} {
		first := l.must(at(now, ask)).Block
		if first.Repeated || first.AtMillis != now {
			t.Errorf("%+v at %d", first, now)
		}
		l.must(at(now+answerMillis, observe(false)))
		if b := l.must(ask).Block; !b.Repeated || b.First != first.First || b.AtMillis != now {
			t.Errorf("%+v, before it was %+v", b, first)
		}
		l.must(at(now+answerMillis+1, observe(false)))
	}
}

func TestAnswersAreLimited(t *testing.T) {
	l := newSequenceLog(t, plain("s"))
	l.answers.limit = 4
	generation := l.seq("s").Generation
	ask := func(i int64) *commandv1.Command {
		return withID(allocate("s", generation, 1, 0), fmt.Sprint(i))
	}
	for i := range int64(4) {
		l.must(at(epoch+i*1000, observe(false)))
		l.must(ask(i))
	}
	refused := l.refused(overloaded, ask(4))
	if refused.RetryAtMillis != epoch+answerMillis+1 {
		t.Errorf("retry at %d", refused.RetryAtMillis-epoch)
	}
	l.take("s", 1, 0) // without an ID there is room
	l.must(at(epoch+answerMillis, observe(false)))
	l.refused(overloaded, ask(4))
	l.must(at(refused.RetryAtMillis, observe(false)))
	l.must(ask(4))
	l.refused(overloaded, ask(5))
	// The clock was incorrect. Answers from that time must not fill the table until the clock reaches their time.
	l.must(at(epoch, observe(true)))
	for i := range int64(20) {
		l.must(ask(5 + i))
		if n := len(l.answers.kept()); n > 4 || len(l.answers.place) != n {
			t.Fatalf("%d answers, %d places", n, len(l.answers.place))
		}
		if b := l.must(ask(5 + i)).Block; !b.Repeated {
			t.Errorf("%+v", b)
		}
		if i >= 3 {
			l.must(at(epoch+(i-2)*(answerMillis+1), observe(false)))
		}
		l.survives()
		l.answers.limit = 4
	}
}

// TestReturnsNeedTheKey: the token of a block is a log index, which every caller can guess.
func TestReturnsNeedTheKey(t *testing.T) {
	l := newSequenceLog(t, plain("s"))
	generation := l.seq("s").Generation
	l.refused(invalidArgument, withKey(allocate("s", generation, 10, 0), returnKeyHash[1:]))
	both := withID(allocate("s", generation, 10, 0), "r")
	l.refused(invalidArgument, withKey(both, returnKeyHash))
	b := l.take("s", 10, 0)
	for _, hash := range [][]byte{nil, nonceHash('x'), returnKeyHash[:16], make([]byte, hashBytes)} {
		l.refused(notLast, withKey(giveBack("s", b.Token, 4), hash))
	}
	l.survives()
	l.must(giveBack("s", b.Token, 4))
	l.survives()
	// No caller can return a block without a key, and a block with another key ends the claim to the block before.
	keyless := l.must(withKey(allocate("s", generation, 10, 0), nil)).Block
	for _, hash := range [][]byte{nil, returnKeyHash, make([]byte, hashBytes)} {
		l.refused(notLast, withKey(giveBack("s", keyless.Token, 4), hash))
	}
	b = l.take("s", 10, 0)
	l.must(withKey(allocate("s", generation, 10, 0), nonceHash('x')))
	l.refused(notLast, giveBack("s", b.Token, 4))
	l.refused(notLast, giveBack("s", l.index-1, 4))
	l.survives()
}

// A leader that lost its term and won a later one has reported all of the earlier term's block as issued.
func TestReturnsAreBoundToTheirTerm(t *testing.T) {
	l := newSequenceLog(t, plain("s"))
	within := func(token, unused, term uint64) *commandv1.Command {
		cmd := giveBack("s", token, unused)
		cmd.GetReturnBlock().Term = term
		return cmd
	}
	l.term = 3
	b := l.take("s", 10, 0)
	l.term = 5
	l.refused(notLast, within(b.Token, 4, 3))
	l.refused(notLast, within(b.Token, 4, 6))
	l.must(giveBack("s", b.Token, 4)) // relaxed sequence
	b = l.gives("s", 10, 0, 7, 10)
	l.must(within(b.Token, 5, 5))
	l.gives("s", 1, 0, 12, 1)
}
