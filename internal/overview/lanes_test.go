package overview

import (
	"fmt"
	"testing"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// If there are too many lanes, those with a problem are shown. The order of the status stays unchanged.
func TestShownLanesAreBounded(t *testing.T) {
	t.Parallel()
	var lanes []*snowraftv1.Lane
	for i := range uint32(maxLanes + 50) {
		lanes = append(lanes, &snowraftv1.Lane{Layout: fmt.Sprint(i), Idle: i < 100})
	}
	lanes[60].Problem, lanes[len(lanes)-1].Problem = "x", "y"
	got := shown(lanes)
	if len(got) != maxLanes || got[0].GetProblem() != "x" || got[1].GetProblem() != "y" || got[2].GetLayout() != "100" || lanes[0].GetLayout() != "0" {
		t.Errorf("%d lanes, the first of which are %v, %v and %v", len(got), got[0], got[1], got[2])
	}
	if few := shown(lanes[:maxLanes]); len(few) != maxLanes || few[0] != lanes[0] {
		t.Errorf("%d lanes of %d, first %v", len(few), maxLanes, few[0])
	}
}

// A member serves all of its layouts until the first of them has no window left. Idle lanes do not count.
func TestServesUntil(t *testing.T) {
	t.Parallel()
	lane := func(layout string, until int64, idle bool) *snowraftv1.Lane {
		return &snowraftv1.Lane{Layout: layout, ServeUntilAtMs: until, Idle: idle}
	}
	for _, c := range []struct {
		lanes []*snowraftv1.Lane
		want  int64
	}{
		{nil, 0},
		{[]*snowraftv1.Lane{lane("a", 0, false)}, 0},
		{[]*snowraftv1.Lane{lane("a", 5, false), lane("a", 9, false)}, 9},
		{[]*snowraftv1.Lane{lane("a", 9, false), lane("b", 7, false), lane("c", 3, true), lane("d", 0, false)}, 7},
	} {
		if got := servesUntil(c.lanes); got != c.want {
			t.Errorf("servesUntil(%v) = %d, want %d", c.lanes, got, c.want)
		}
	}
}
