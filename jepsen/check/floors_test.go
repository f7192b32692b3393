package check

import (
	"slices"
	"testing"
	"time"

	"github.com/snowraft/snowraft/jepsen/history"
	"github.com/snowraft/snowraft/jepsen/schedule"
)

func TestFloorsOfPlans(t *testing.T) {
	t.Parallel()
	for4 := schedule.Duration(4 * time.Second)
	var events []schedule.Event
	for range 4 {
		events = append(events, schedule.Event{Fault: "kill", On: "leader", For: for4})
	}
	events = append(events,
		schedule.Event{Fault: "kill", On: "leader", For: schedule.Duration(time.Second)}, schedule.Event{Fault: "pause", On: "follower", For: for4},
		schedule.Event{Fault: "clock-bump", On: "leader", Amount: "1500ms", For: for4},
		schedule.Event{Fault: "clock-all", On: "all", Amount: "5s", For: for4}, schedule.Event{Fault: "wipe", On: "leader", For: for4})
	bump := schedule.Event{Fault: "clock-bump", On: "leader", Amount: "-5s", For: for4}
	two, three := append(slices.Clone(events), bump, bump), append(slices.Clone(events), bump, bump, bump)
	r := &Run{Header: history.Run{Rate: 200, WaitThresholdMillis: 1000}}
	for _, c := range []struct {
		length    time.Duration
		workloads []string
		events    []schedule.Event
		want      Floors
	}{
		{10 * time.Minute, []string{"ids", "strict"}, three, Floors{LeaderChanges: 2, Refusals: 15, SnapshotsInstalled: 1, Ambiguous: 4, Rate: 60}},
		{time.Minute, []string{"ids", "redis"}, three, Floors{LeaderChanges: 2, Refusals: 15, Ambiguous: 4, Rate: 20}},
		{time.Minute, []string{"ids", "redis"}, two, Floors{LeaderChanges: 2, Ambiguous: 4, Rate: 20}},
		{time.Minute, []string{"ids"}, two[len(two)-2:], Floors{Refusals: 10, Rate: 20}},
		{10 * time.Minute, []string{"relaxed", "churn"}, three, Floors{LeaderChanges: 2, HandedOver: 100}},
	} {
		p := schedule.Plan{Header: schedule.Header{Duration: schedule.Duration(c.length), Workloads: c.workloads}, Events: c.events}
		if got := floorsFor(r, p); got != c.want {
			t.Errorf("floorsFor(%v of %v) = %+v, want %+v", c.length, c.workloads, got, c.want)
		}
	}
}
