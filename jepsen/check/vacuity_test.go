package check

import (
	"strings"
	"testing"

	"github.com/snowraft/snowraft/jepsen/history"
	"github.com/snowraft/snowraft/jepsen/schedule"
)

// eventful returns a run that reaches floorsMet.
func eventful() *scene {
	refused := func(id uint64, reason string) history.Op {
		return history.Op{ID: id, Workload: "ids", Do: history.DoIDs, Outcome: history.Fail, Reason: reason}
	}
	s := newScene(lines(phases(0, 10, 100, 110), clockFault(20*second, 30*second, second, "n1"),
		statuses(status(second, 0), status(2*second, 0), changed(status(3*second, 0), func(s *history.Status) { s.Term, s.LeaderID = 4, "a" }), changed(status(4*second, 0), func(s *history.Status) { s.LeaderID = "" })),
		history.Line{Note: &history.Note{What: "log-damaged", Member: "n2"}})...)
	s.lines[0].Run.Workloads = []string{"ids", "strict", "all"}
	return s.ops(asked(11, 12, history.OK), refused(2, "CLOCK_BEHIND"), refused(3, "NO_LEADER"), refused(4, "INVALID_ARGUMENT"), asked(13, 14, history.Info), sequence("strict", 15*second, 16*second, 1)).
		issue("default", issued(500, 0, 0, 1))
}

var floorsMet = Floors{LeaderChanges: 1, Refusals: 1, SnapshotsInstalled: 1, Ambiguous: 1, HandedOver: 3, Rate: 0.009}

func TestVacuity(t *testing.T) {
	t.Parallel()
	remove := func(which func(history.Line) bool) *scene {
		s := eventful()
		var kept []history.Line
		for _, l := range s.lines {
			if !which(l) {
				kept = append(kept, l)
			}
		}
		s.lines = kept
		return s
	}
	fault := func(change func(*history.Fault)) *scene {
		return remove(func(l history.Line) bool {
			if l.Fault != nil {
				change(l.Fault)
			}
			return l.Fault != nil && l.Fault.Name == ""
		})
	}
	for _, c := range []struct {
		name     string
		scene    *scene
		floors   Floors
		handed   int
		schedule string
		outcome  Outcome
		texts    []string
	}{
		{"enough", eventful(), floorsMet, 3, "", Pass, nil},
		{"no floors", eventful(), Floors{}, 0, "", Pass, nil},
		{"few leader changes", eventful(), Floors{LeaderChanges: 2}, 0, "", Invalid, []string{"leader_changes: 1, expected at least 2"}},
		{"few refusals", eventful(), Floors{Refusals: 2}, 0, "", Invalid, []string{"refusals: 1"}},
		{"few snapshots", eventful(), Floors{SnapshotsInstalled: 2}, 0, "", Invalid, []string{"snapshots_installed: 1"}},
		{"few unknown outcomes", eventful(), Floors{Ambiguous: 2}, 0, "", Invalid, []string{"ambiguous: 1"}},
		{"few workers handed over", eventful(), floorsMet, 2, "", Invalid, []string{"handed_over: 2, expected at least 3"}},
		{"a low rate", eventful(), Floors{Rate: 0.0095}, 0, "", Invalid, []string{"requests for IDs were answered per second"}},
		{"no phase", remove(func(l history.Line) bool { return l.Phase != nil && l.Phase.Name == history.PhaseHealed }), Floors{}, 0, "", Invalid, []string{`phase "healed" is missing`}},
		{"a workload without operations", remove(func(l history.Line) bool { return l.Op != nil && l.Op.Workload == "strict" }), Floors{}, 0, "", Invalid, []string{`no operation of workload "strict" succeeded`}},
		{"a workload that only failed", remove(func(l history.Line) bool { return l.Op != nil && l.Op.Workload == "ids" && l.Op.Outcome == history.OK }), Floors{}, 0, "", Invalid, []string{`workload "ids"`}},
		{"a fault that failed", fault(func(f *history.Fault) { f.Failed = "no iptables" }), Floors{}, 0, "", Invalid, []string{"fault 0 (bump) could not be made: no iptables"}},
		{"a fault that did not end", fault(func(f *history.Fault) {
			if f.Ended {
				f.Name = ""
			}
		}), Floors{}, 0, "", Invalid, []string{"fault 0 (bump), which began at 20.000000 s, did not end"}},
		{"an idle fault", fault(func(f *history.Fault) { f.Idle = f.Ended }), Floors{}, 0, "", Invalid, []string{"none of 1 faults of kind bump affected anything"}},
		{"all planned faults", eventful(), Floors{}, 0, "bump", Pass, nil},
		{"a fault that did not begin", eventful(), Floors{}, 0, "bump kill", Invalid, []string{"fault 1 (kill) did not begin"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := c.scene.open(t)
			wants(t, Vacuity(r, planned(strings.Fields(c.schedule)...), Seen{c.handed, 1}, c.floors), c.outcome, c.texts...)
		})
	}
}

// planned returns an event for each fault.
func planned(faults ...string) (events []schedule.Event) {
	for _, f := range faults {
		events = append(events, schedule.Event{Fault: f})
	}
	return events
}

func TestVacuityWithoutFaults(t *testing.T) {
	t.Parallel()
	s := newScene(phases(0, 10, 100, 110)...)
	wants(t, Vacuity(s.open(t), planned("kill"), Seen{}, Floors{}), Invalid, "fault 0 (kill) did not begin")
	wants(t, Vacuity(s.open(t), nil, Seen{}, Floors{}), Pass)
}

func TestVacuityIgnoresOtherWorkloads(t *testing.T) {
	t.Parallel()
	other := func(outcome history.Outcome, reason string) history.Op {
		return history.Op{ID: 1, Workload: "churn", Do: history.DoIDs, Outcome: outcome, Reason: reason}
	}
	s := newScene(phases(0, 10, 100, 110)...).ops(other(history.OK, ""), other(history.Fail, "CLOCK_BEHIND"))
	wants(t, Vacuity(s.open(t), nil, Seen{}, Floors{Rate: 0.001, Refusals: 1}), Invalid, "refusals: 0", "0.0 requests for IDs")
}

// TestVacuityForgivesIdleFaults checks that a run may have idle faults as long as none of their kind surely had an effect.
func TestVacuityForgivesIdleFaults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		idle, busy, others int
		outcome            Outcome
	}{
		{1, 1, 0, Pass},
		{2, 0, 1, Pass},
		{2, 0, 0, Invalid},
		{3, 0, 1, Invalid},
		{3, 1, 1, Pass},
	} {
		s := newScene(phases(0, 10, 100, 110)...)
		for n := range c.idle + c.busy + c.others {
			f := history.Fault{Event: n, Name: "torn-write", At: 20 * second}
			if n >= c.idle+c.busy {
				f.Name = "kill"
			}
			s.add(history.Line{Fault: &f})
			end := f
			end.Ended, end.Idle = true, n < c.idle
			s.add(history.Line{Fault: &end})
		}
		v := Vacuity(s.open(t), nil, Seen{}, Floors{})
		if v.Outcome != c.outcome || v.Facts["faults_idle"] != int64(c.idle) {
			t.Errorf("%+v: Vacuity() = %v %v", c, v.Outcome, v.Failures)
		}
	}
}

func TestVacuityMissesIDs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		given   uint32
		outcome history.Outcome
		want    Outcome
	}{{5, history.OK, Pass}, {4, history.OK, Pass}, {6, history.OK, Invalid}, {6, history.Fail, Pass}} {
		s := newScene(phases(0, 10, 100, 110)...).
			ops(history.Op{ID: 1, Workload: "ids", Do: history.DoIDs, Outcome: c.outcome, Count: c.given}).
			issue("default", issued(500, 1, 2, 1))
		v := Vacuity(s.open(t), nil, Seen{}, Floors{})
		if v.Outcome != c.want || v.Facts["ids_written"] != 5 {
			t.Errorf("%d IDs received with outcome %s: %+v, want %s and 5 IDs written", c.given, c.outcome, v, c.want)
		}
	}
}
