package simtest

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/snowraft/snowraft/allocator"
	"github.com/snowraft/snowraft/internal/member"
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// The audit of sequences finds numbers that violate the definition of their generation.
func TestDefinitionsAreJudged(t *testing.T) {
	t.Parallel()
	threes := like(plain("s", relaxed), func(s *commandv1.SequenceSpec) { s.Increment, s.Min, s.Max = 3, 1, 100 })
	toStrict := like(threes, func(s *commandv1.SequenceSpec) { s.Mode = strict })
	answer := func(generation uint64, first, increment int64, count uint64) member.Numbering {
		return member.Numbering{Numbers: allocator.Numbers{First: first, Count: count, Increment: increment, Generation: generation}}
	}
	for name, c := range map[string]struct {
		do   func(s *series)
		want string // "": no fault
	}{
		"as defined": {func(s *series) { s.give("m", asked{own: true}, answer(2, 10, 3, 31)) }, ""},
		"above":      {func(s *series) { s.give("m", asked{}, answer(2, 10, 3, 32)) }, "want 1 to 100"},
		"below":      {func(s *series) { s.give("m", asked{}, answer(2, -2, 3, 2)) }, "want 1 to 100"},
		"steps":      {func(s *series) { s.give("m", asked{}, answer(2, 10, 1, 2)) }, "in steps of 1, want 3"},
		"step":       {func(s *series) { s.give("m", asked{}, answer(2, 10, 3, 2)); s.give("m", asked{}, answer(2, 17, 3, 1)) }, "out of step"},
		"own":        {func(s *series) { s.give("m", asked{own: true}, answer(3, 10, 3, 1)) }, "the sequence was strict"},
		"strict": {func(s *series) {
			s.give("m", asked{own: true}, answer(2, 10, 3, 2))
			s.give("m", s.askModal(), answer(3, 7, 3, 1))
		}, "which is strict"},
		"not requested": {func(s *series) { s.give("m", asked{}, answer(4, 10, 2, 1)) }, "that no client requested"},
		"in doubt":      {func(s *series) { s.give("m", asked{}, answer(4, 10, 3, 1)) }, ""},
		"no doubt left": {func(s *series) { s.give("m", asked{}, answer(4, 500, 1, 1)); s.defined(4, threes) }, "want 3"},
		"defined otherwise": {func(s *series) {
			s.defined(4, like(threes, func(s *commandv1.SequenceSpec) { s.Max = math.MaxInt64 }))
		}, "which no client requested"},
		"defined again": {func(s *series) { s.defined(2, toStrict) }, "and then as"},
	} {
		var faults []string
		s := newNumbers(func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }).
			add(rules{spec: plain("s", relaxed), changes: true, modes: true})
		s.define(threes)
		s.define(toStrict)
		s.defined(1, s.spec)
		s.defined(2, threes)
		s.defined(3, toStrict)
		c.do(s)
		if all := strings.Join(faults, "; "); (c.want == "") != (all == "") || !strings.Contains(all, c.want) {
			t.Errorf("%s: faults = %q, want %q", name, all, c.want)
		}
	}
}
