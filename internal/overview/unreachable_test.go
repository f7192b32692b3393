package overview

import (
	"errors"
	"testing"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

func TestUnreachableForgetsThePresent(t *testing.T) {
	t.Parallel()
	last := newScene("a", "b", "c").o
	last.Quorum = &snowraftv1.Quorum{Voters: 3, Alive: 3}
	o := Unreachable("g", noon+10, noon, errors.New("refused"), last)
	if o.GetQuorum() != nil || o.GetLeaderName() != "" || o.GetObservedClockAtMs() != 0 || o.GetComposedAtMs() != noon+10 {
		t.Errorf("Unreachable() = %v, want neither leader, quorum nor observed clock", o)
	}
	if last.GetQuorum() == nil {
		t.Error("Unreachable changed the last overview")
	}
}
