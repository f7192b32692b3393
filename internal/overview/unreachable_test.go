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
	last.Windows = &snowraftv1.LayoutWindows{Held: 5, Rows: []*snowraftv1.WorkerWindow{
		{Worker: 1, UntilAtMs: noon + 10, Held: true}, {Worker: 2, UntilAtMs: noon + 11, Held: true}, {Worker: 3, UntilAtMs: noon + 1},
	}}
	o := Unreachable("g", noon+10, noon, errors.New("refused"), last)
	if o.GetQuorum() != nil || o.GetLeaderName() != "" || o.GetObservedClockAtMs() != 0 || o.GetComposedAtMs() != noon+10 {
		t.Errorf("Unreachable() = %v, want neither leader, quorum nor observed clock", o)
	}
	if l := o.GetWindows(); l.GetHeld() != 4 || l.GetRows()[0].GetHeld() || !l.GetRows()[1].GetHeld() {
		t.Errorf("windows %v, want worker 1 free and 4 workers held", l)
	}
	if !last.GetWindows().GetRows()[0].GetHeld() || last.GetQuorum() == nil {
		t.Error("Unreachable changed the last overview")
	}
}
