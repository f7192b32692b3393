package schedule_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/snowraft/snowraft/jepsen/schedule"
)

// plan returns a plan with this many events, whose faults are their numbers.
func plan(events int) schedule.Plan {
	var p schedule.Plan
	for i := range events {
		p.Events = append(p.Events, schedule.Event{Fault: fmt.Sprint(i)})
	}
	return p
}

// has reports whether a plan contains all of these faults.
func has(p schedule.Plan, faults []string) bool {
	for _, f := range faults {
		if !slices.ContainsFunc(p.Events, func(e schedule.Event) bool { return e.Fault == f }) {
			return false
		}
	}
	return true
}

func TestShrinkFindsFailingEvents(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		whole := plan(1 + r.IntN(40))
		var needed []string
		for _, i := range r.Perm(len(whole.Events))[:min(r.IntN(4), len(whole.Events))] {
			needed = append(needed, fmt.Sprint(i))
		}
		tries := 0
		got, err := schedule.Shrink(whole, func(p schedule.Plan) (bool, error) {
			tries++
			if len(p.Events) == len(whole.Events) {
				t.Error("the whole plan was tried again")
			}
			return has(p, needed), nil
		})
		if err != nil || len(got.Events) != len(needed) || !has(got, needed) {
			t.Errorf("Shrink() of %d events = %v, %v, want %v", len(whole.Events), got.Events, err, needed)
		}
		if tries > 40+20*(1+len(needed)) {
			t.Errorf("Shrink() made %d tries for %d of %d events, want fewer", tries, len(needed), len(whole.Events))
		}
	}
}

func TestShrinkReturnsSmallestPlanOnError(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	tries := 0
	got, err := schedule.Shrink(plan(8), func(schedule.Plan) (bool, error) {
		if tries++; tries > 1 {
			return false, broken
		}
		return true, nil
	})
	if !errors.Is(err, broken) || len(got.Events) != 4 {
		t.Errorf("Shrink() = %d events, %v, want 4 events and the error", len(got.Events), err)
	}
}
