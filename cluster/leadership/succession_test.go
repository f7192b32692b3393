package leadership

import (
	"testing"
)

// If a voter supported two candidates in one term, both could call an election.
func TestVoterSpeaksForOneCandidateInATerm(t *testing.T) {
	t.Parallel()
	var s Succession
	for i, step := range []struct {
		term      uint64
		candidate string
		want      bool
	}{
		{5, "a", true}, {5, "a", true}, {5, "b", false}, {4, "b", false}, {6, "b", true}, {6, "a", false}, {5, "a", false},
	} {
		if got := s.promise(step.term, step.candidate); got != step.want {
			t.Errorf("%d: promise(%d, %s) = %v, want %v", i, step.term, step.candidate, got, step.want)
		}
	}
	s.withdraw(5)
	if s.promise(6, "a") {
		t.Error("the withdrawal of an earlier term counted")
	}
	s.withdraw(6)
	if !s.promise(6, "a") {
		t.Error("a withdrawn promise stayed")
	}
}
