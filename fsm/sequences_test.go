package fsm

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

func TestCreateSequence(t *testing.T) {
	l := newLog(t)
	spec := plain("orders", func(s *commandv1.SequenceSpec) { s.Format, s.Description = "ORD{seq}", "what we sold" })
	r := l.must(at(epoch, create(spec, 0)))
	want := Sequence{
		Spec: spec, CreatedMillis: epoch, Incarnation: l.index, Generation: l.index, Numbering: l.index, Next: 1, Remaining: math.MaxInt64,
	}
	for name, got := range map[string]Sequence{"result": r.Sequence, "state": l.seq("orders")} {
		if !proto.Equal(got.Spec, spec) {
			t.Errorf("%s: %v", name, got.Spec)
		}
		if got.Spec = spec; got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
	before, revision := l.Digest(), l.sequenceRevision
	if again := l.must(create(proto.CloneOf(spec), 0)); again.Sequence.Generation != want.Generation || again.Index != l.index {
		t.Errorf("again: %+v", again)
	}
	if l.Digest() != before || l.sequenceRevision != revision {
		t.Error("creating it again changed something")
	}
	for want, change := range map[string]func(*commandv1.SequenceSpec){
		"another start;":          func(s *commandv1.SequenceSpec) { s.Start++ },
		"another max and format;": func(s *commandv1.SequenceSpec) { s.Max--; s.Format = "A{seq}" },
		"another block duration, min block and max block;": func(s *commandv1.SequenceSpec) { s.BlockDurationMs++; s.MinBlock++; s.MaxBlock-- },
	} {
		other := proto.CloneOf(spec)
		change(other)
		if r := l.refused(sequenceExists, create(other, 0)); !strings.Contains(r.Detail, want) {
			t.Errorf("%q, want %q in it", r.Detail, want)
		}
	}
	l.refused(sequenceExists, forced(create(plain("orders"), 0)))
	if l.SequenceCount() != 1 {
		t.Errorf("%d sequences", l.SequenceCount())
	}
}

func TestCheckSequence(t *testing.T) {
	l := newSequenceLog(t)
	for name, spoil := range map[string]func(*commandv1.SequenceSpec){
		"no name":              func(s *commandv1.SequenceSpec) { s.Name = "" },
		"a long name":          func(s *commandv1.SequenceSpec) { s.Name = strings.Repeat("x", 129) },
		"a space":              func(s *commandv1.SequenceSpec) { s.Name = "a b" },
		"a wide space":         func(s *commandv1.SequenceSpec) { s.Name = "a\u3000b" },
		"no UTF-8":             func(s *commandv1.SequenceSpec) { s.Name = "\xff" },
		"a reserved name":      func(s *commandv1.SequenceSpec) { s.Name = "$new" },
		"a tag":                func(s *commandv1.SequenceSpec) { s.Name = "a\U000e0041" },
		"start below min":      func(s *commandv1.SequenceSpec) { s.Start = 0 },
		"start above max":      func(s *commandv1.SequenceSpec) { s.Max = 5; s.Start = 6 },
		"min above max":        numbers(1, 1, 2, 0),
		"increment 0":          func(s *commandv1.SequenceSpec) { s.Increment = 0 },
		"no mode":              func(s *commandv1.SequenceSpec) { s.Mode = 0 },
		"another mode":         func(s *commandv1.SequenceSpec) { s.Mode = 4 },
		"gapless by 2":         func(s *commandv1.SequenceSpec) { s.Mode, s.Increment = gapless, 2 },
		"reuse of strict":      func(s *commandv1.SequenceSpec) { s.Mode, s.Reuse = commandv1.SequenceMode_SEQUENCE_MODE_STRICT, true },
		"no reset":             resetting(0),
		"another reset":        resetting(7),
		"years from 02-29":     years(229),
		"years from 01-01":     years(101),
		"years from a month":   years(400),
		"years from day 1":     years(1),
		"years from 13-01":     years(1301),
		"years beyond 16 bits": years(1<<16 + 401),
		"short blocks":         func(s *commandv1.SequenceSpec) { s.BlockDurationMs = 99 },
		"long blocks":          func(s *commandv1.SequenceSpec) { s.BlockDurationMs = 3_600_001 },
		"empty blocks":         func(s *commandv1.SequenceSpec) { s.MinBlock = 0 },
		"huge blocks":          func(s *commandv1.SequenceSpec) { s.MaxBlock = 100_000_001 },
		"least over most":      func(s *commandv1.SequenceSpec) { s.MinBlock = s.GetMaxBlock() + 1 },
		"a long time zone":     func(s *commandv1.SequenceSpec) { s.TimeZone = strings.Repeat("x", 65) },
		"a long format":        func(s *commandv1.SequenceSpec) { s.Format = strings.Repeat("x", 257) },
		"a long description":   func(s *commandv1.SequenceSpec) { s.Description = strings.Repeat("x", 257) },
		"two lines":            func(s *commandv1.SequenceSpec) { s.Description = "a\nb" },
		"an escape":            func(s *commandv1.SequenceSpec) { s.Description = "\x1b[2J" },
		"a direction":          func(s *commandv1.SequenceSpec) { s.Description = "a\u202eb" },
		"a broken text":        func(s *commandv1.SequenceSpec) { s.Description = "\xff" },
		"a broken format":      func(s *commandv1.SequenceSpec) { s.Format = "\xff" },
	} {
		spec := plain("new", spoil)
		l.refused(invalidArgument, create(spec, 0))
		err := CheckSequence(spec)
		if refused, ok := errors.AsType[*Refused](err); !ok || refused.Reason != invalidArgument {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, part := range []string{"minimum 2 ", "maximum 0;", "lower the minimum or raise the maximum"} {
		if err := CheckSequence(plain("new", numbers(1, 1, 2, 0))); !strings.Contains(err.Error(), part) {
			t.Errorf("%v, want %q in it", err, part)
		}
	}
	// The normalized form depends on the version of Unicode, so the proposer checks it.
	l.must(create(plain("cafe\u0301"), 0))
	l.refused(invalidArgument, create(nil, 0))
	l.refused(invalidArgument, create(plain("new"), 20250101))
	for _, period := range []int32{0, 20250001, 20251301, 20250100, 20250132, 19691231, -20250101, 100000101} {
		l.refused(invalidArgument, create(plain("new", resetting(resetDaily)), period))
	}
	longest := plain(strings.Repeat("é", 64), numbers(math.MinInt64, math.MinInt64, math.MinInt64, math.MaxInt64),
		func(s *commandv1.SequenceSpec) {
			s.BlockDurationMs, s.MinBlock, s.MaxBlock = 3_600_000, 100_000_000, 100_000_000
			s.TimeZone, s.Format, s.Description = strings.Repeat("x", 64), strings.Repeat("x", 256), strings.Repeat("x", 256)
			s.Mode, s.Reset_ = commandv1.SequenceMode_SEQUENCE_MODE_STRICT, resetYearly
		})
	if err := CheckSequence(longest); err != nil {
		t.Error(err)
	}
	l.must(create(longest, 99991231))
	if got := l.seq(longest.GetName()); !proto.Equal(got.Spec, longest) || got.Period != 99991231 {
		t.Errorf("%v, want %v", got, longest)
	}
	l.survives()
}

func TestSequencesAreLimited(t *testing.T) {
	l := newSequenceLog(t)
	l.maxSequences = 3
	for i := range 3 {
		l.must(create(plain(fmt.Sprint("s", i)), 0))
	}
	l.must(create(plain("s0"), 0))
	l.refused(limitReached, create(plain("s3"), 0))
	l.take("s0", 1, 0)
	l.must(remove("s0")) // is remembered
	l.refused(limitReached, create(plain("s3"), 0))
	l.must(remove("s1")) // is not
	l.must(create(plain("s3"), 0))
	l.refused(limitReached, create(plain("s4"), 0))
	if live, deleted := l.SequenceCount(), l.DeletedSequenceCount(); live != 2 || deleted != 1 {
		t.Errorf("%d sequences and %d deleted ones at the limit, want 2 and 1", live, deleted)
	}
	l.must(forced(create(plain("s0"), 0))) // takes the place of its remembered deletion
}

func TestSequencePages(t *testing.T) {
	l := newSequenceLog(t)
	var names []string
	for i := range 100 {
		name := fmt.Sprintf("%c/%02d", 'a'+i%3, i)
		l.must(create(plain(name), 0))
		if i%10 == 7 {
			l.take(name, 1, 0)
			l.must(remove(name))
			continue
		}
		names = append(names, name)
	}
	slices.Sort(names)
	for _, prefix := range []string{"", "a", "b/", "c/0", "c/07", "d", "B"} {
		var want, got []string
		for _, name := range names {
			if strings.HasPrefix(name, prefix) {
				want = append(want, name)
			}
		}
		for after := ""; ; after = got[len(got)-1] {
			page := l.Sequences(after, prefix, 7)
			for _, q := range page {
				got = append(got, q.Spec.GetName())
			}
			if len(page) < 7 {
				break
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", prefix, got, want)
		}
	}
	if l.SequenceCount() != len(names) || len(l.Sequences("z", "", 10)) != 0 || len(l.Sequences("", "", 0)) != 0 || len(l.Sequences("b", "a", 5)) != 0 {
		t.Errorf("%d sequences, want %d", l.SequenceCount(), len(names))
	}
	for _, test := range []struct {
		around string
		n      int
		want   []string
	}{
		{"a/", 2, names[:2]}, {names[0], 2, names[1:3]}, {names[4], 1, []string{names[3], names[5]}},
		{names[4] + "!", 2, names[3:7]}, {"z", 3, names[len(names)-3:]}, {"", 1, names[:1]}, {"c", 0, nil},
	} {
		if got := l.SequenceNames(test.around, test.n); !slices.Equal(got, test.want) {
			t.Errorf("around %q: %v, want %v", test.around, got, test.want)
		}
	}
}

func TestDeleteSequence(t *testing.T) {
	l := newSequenceLog(t, plain("unused"), plain("used"), plain("returned"))
	l.refused(unknownSeq, remove("other"))
	l.must(remove("unused"))
	l.take("used", 10, 0)
	l.must(remove("used"))
	b := l.take("returned", 10, 0)
	l.must(giveBack("returned", b.Token, 10))
	l.must(remove("returned"))
	for _, name := range []string{"unused", "used", "returned"} {
		if _, ok := l.Sequence(name); ok {
			t.Errorf("%q is still there", name)
		}
		l.refused(unknownSeq, remove(name))
		l.refused(unknownSeq, allocate(name, 1, 1, 0))
		l.refused(unknownSeq, giveBack(name, b.Token, 1))
		l.refused(unknownSeq, change(plain(name), 1))
	}
	if n := l.sequences.deleted.Len(); n != 1 || l.SequenceCount() != 0 {
		t.Errorf("%d are remembered, %d are there", n, l.SequenceCount())
	}
	l.survives()
	l.must(create(plain("unused"), 0))
	l.must(create(plain("returned"), 0))
	l.refused(wouldRepeats, create(plain("used"), 0))
	l.refused(wouldRepeats, create(plain("used", numbers(11, -1, 1, 100)), 0))
	l.must(create(plain("used", numbers(11, 1, 1, 100)), 0))
	// The numbers of the first sequence stay remembered also if the second granted nothing.
	l.must(remove("used"))
	l.refused(wouldRepeats, create(plain("used", numbers(10, 1, 1, 100)), 0))
	l.must(forced(create(plain("used"), 0)))
	q := l.seq("used")
	l.refused(wouldRepeats, change(plain("used", numbers(1, 2, 1, 100)), q.Generation))
}

// A deletion and a forced creation apply only to the sequence that the caller looked at.
func TestDeletionsAndForcedCreationsCompare(t *testing.T) {
	l := newSequenceLog(t, plain("s"))
	deletion := func(generation uint64) *commandv1.Command {
		cmd := remove("s")
		cmd.GetDeleteSequence().Generation = generation
		return cmd
	}
	over := func(replaces uint64) *commandv1.Command {
		cmd := forced(create(plain("s"), 0))
		cmd.GetCreateSequence().Replaces = &replaces
		return cmd
	}
	seen := l.seq("s").Generation
	l.take("s", 10, 0) // not a change of the sequence
	l.must(set(plain("s"), seen, 50))
	l.refused(mismatchedGen, deletion(seen))
	if l.seq("s").Next != 50 {
		t.Errorf("%+v", l.seq("s"))
	}
	last := l.must(deletion(l.seq("s").Generation))
	l.refused(unknownSeq, deletion(seen))
	if got := l.DeletedGeneration("s"); got != last.Index || l.DeletedGeneration("other") != 0 {
		t.Errorf("deleted in generation %d, want %d", got, last.Index)
	}
	l.refused(mismatchedGen, over(0))
	l.refused(mismatchedGen, over(seen))
	l.survives()
	l.must(over(last.Index))
	l.must(over(last.Index)) // no change: the sequence exists
	l.take("s", 5, 0)
	l.must(deletion(l.seq("s").Generation))
	l.refused(mismatchedGen, over(last.Index))
	l.must(forced(create(plain("s"), 0))) // proposer of an earlier version
}

func TestRecreateWithPeriods(t *testing.T) {
	daily, none := plain("s", resetting(resetDaily)), plain("s")
	start := func(spec *commandv1.SequenceSpec, period int32) *log {
		l := newSequenceLog(t)
		l.must(create(spec, period))
		l.take("s", 10, period)
		l.must(remove("s"))
		return l
	}
	l := start(daily, 20250102)
	l.refused(wouldRepeats, create(daily, 20250102))
	l.refused(wouldRepeats, create(daily, 20250101)) // the period does not go back, so it is the same
	l.refused(wouldRepeats, create(plain("s", numbers(11, 1, 1, 100)), 0))
	next := plain("s", numbers(11, 1, 1, 100), resetting(resetDaily))
	l.must(create(next, 20250101))
	if q := l.seq("s"); q.Period != 20250102 {
		t.Errorf("%+v, but the period moved backwards", q)
	}
	l.must(remove("s"))
	l.must(create(daily, 20250103))
	l.must(remove("s")) // nothing was granted, but in earlier periods
	l.must(create(daily, 20250102))
	if q := l.seq("s"); q.Period != 20250103 {
		t.Errorf("%+v, but the period moved backwards", q)
	}
	l.must(remove("s"))
	l.must(forced(create(daily, 20250101)))
	if q := l.seq("s"); q.Period != 20250101 {
		t.Errorf("%+v", q)
	}
	l = start(none, 0)
	l.refused(wouldRepeats, create(daily, 20250101))
	l.must(create(next, 20250101))
	// A day of a month in which these numbers were granted.
	l = start(plain("s", resetting(resetMonthly)), 20250101)
	l.refused(wouldRepeats, create(daily, 20250115))
	l.refused(wouldRepeats, create(next, 20250115))
	l.must(forced(create(daily, 20250115)))
}

func TestSequenceIndexesGrow(t *testing.T) {
	l := newSequenceLog(t, plain("s"))
	l.take("s", 1, 0)
	generation, index := l.seq("s").Generation, l.index
	for _, cmd := range []*commandv1.Command{
		allocate("s", generation, 1, 0), change(plain("s"), generation), remove("s"),
	} {
		before := l.Digest()
		if r := l.Apply(index, 0, cmd); !errors.Is(r.Halted, ErrHalted) || l.Digest() != before {
			t.Errorf("%v: %+v", cmd, r)
		}
	}
	l.must(remove("s"))
	if r := l.Apply(l.index, 0, create(plain("s"), 0)); !errors.Is(r.Halted, ErrHalted) {
		t.Errorf("create: %+v", r)
	}
}

// Yearly and quarterly periods of another start of years are other periods. The rest of the resets do not depend on it.
func TestYearsStartOnOneDay(t *testing.T) {
	l := newSequenceLog(t)
	l.must(raise(DocumentVersion))
	l.must(stamped(epoch, create(plain("s", resetting(resetYearly), years(401)), 20250401)))
	l.must(stamped(epoch, change(plain("s", resetting(resetYearly), years(406)), l.seq("s").Generation))) // nothing was granted
	l.gives("s", 3, 20250406, 1, 3)
	l.refused(invalidArgument, allocate("s", l.seq("s").Generation, 1, 20260101))
	for _, spec := range []*commandv1.SequenceSpec{
		plain("s", resetting(resetYearly)), plain("s", resetting(resetYearly), years(401)), plain("s", resetting(resetQuarterly), years(406)),
	} {
		l.refused(wouldRepeats, stamped(epoch, change(spec, l.seq("s").Generation)))
	}
	l.must(remove("s"))
	l.refused(wouldRepeats, stamped(epoch, create(plain("s", resetting(resetYearly), numbers(100, 1, 1, 1000)), 20250101)))
	l.must(stamped(epoch, create(plain("s", resetting(resetYearly), years(406), numbers(100, 1, 1, 1000)), 20250406)))
	l.gives("s", 1, 20250406, 100, 1)
	l.gives("s", 1, 20260406, 100, 1)

	l.must(stamped(epoch, create(plain("w", resetting(resetWeekly), years(401)), 20250331)))
	l.gives("w", 3, 20250331, 1, 3)
	l.must(stamped(epoch, change(plain("w", resetting(resetWeekly)), l.seq("w").Generation)))
	l.gives("w", 1, 20250331, 4, 1)
	l.gives("w", 1, 20250407, 1, 1)
	l.survives()
}

// A cluster that was not upgraded refuses the calendars, and a command that has one is stamped with their version.
func TestCalendarsNeedVersion(t *testing.T) {
	for _, spec := range []*commandv1.SequenceSpec{
		plain("s", years(401)), plain("s", resetting(resetWeekly)), plain("s", resetting(resetQuarterly)), plain("s", resetting(resetYearly), years(401)),
	} {
		l := newSequenceLog(t, plain("s"))
		for _, cmd := range []*commandv1.Command{create(spec, 0), change(spec, l.seq("s").Generation)} {
			if MinVersion(cmd) != DocumentVersion {
				t.Errorf("%v has version %d", cmd, MinVersion(cmd))
			}
			l.must(raise(LeaseVersion))
			l.refused(commandv1.Refusal_REFUSAL_VERSION_TOO_LOW, stamped(epoch, cmd))
		}
	}
	if old := create(plain("s", resetting(resetYearly)), 20250101); MinVersion(old) != firstVersion {
		t.Errorf("%v has version %d", old, MinVersion(old))
	}
}

// Deleting and creating again does not evade the refusals of an update.
func TestLongerPeriodsByRecreation(t *testing.T) {
	daily, yearly := commandv1.SequenceReset_SEQUENCE_RESET_DAILY, commandv1.SequenceReset_SEQUENCE_RESET_YEARLY
	spec := func(start int64, reset commandv1.SequenceReset) *commandv1.SequenceSpec {
		s := plain("s", numbers(start, 1, 1, 1000))
		s.Reset_ = reset
		return s
	}
	l := newSequenceLog(t)
	l.must(create(spec(1, daily), 20260103))
	generation := l.seq("s").Generation
	l.must(allocate("s", generation, 100, 20260103))
	l.must(allocate("s", generation, 5, 20260104))
	l.refused(wouldRepeats, change(spec(6, yearly), generation))
	l.must(remove("s"))
	l.refused(wouldRepeats, create(spec(6, yearly), 20260101))
	l.must(create(spec(6, daily), 20260104))
}
