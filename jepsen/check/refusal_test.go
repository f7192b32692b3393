package check

import (
	"testing"

	"github.com/snowraft/snowraft/jepsen/history"
)

const millisecond = second / 1000

// status returns a status of start 1, which is n1, at a moment. Its clock is off by skew, and its observed clock is 100 ms
// old.
func status(at, skew int64) history.Status {
	return history.Status{
		Member: "n1", Start: 1, Call: at, Return: at + millisecond, WallNanos: sceneWall + at + millisecond, MemberID: "a", LeaderID: "b", Term: 3,
		ObservedMillis: (sceneWall+at)/millisecond - 100, ClockMillis: (sceneWall + at + skew) / millisecond,
		SkewCallNanos: skew, SkewReturnNanos: skew, Problem: "this clock is off",
	}
}

func clockFault(from, to, offset int64, hosts ...string) []history.Line {
	f := history.Fault{Name: "bump", Family: "clock", At: from, Hosts: hosts, OffsetNanos: offset}
	ended := f
	ended.At, ended.Ended = to, true
	return []history.Line{{Fault: &f}, {Fault: &ended}}
}

func process(start uint32, member string, from int64) history.Line {
	return history.Line{Process: &history.Process{Start: start, Member: member, At: from}}
}

func statuses(all ...history.Status) (lines []history.Line) {
	for _, s := range all {
		lines = append(lines, history.Line{Status: &s})
	}
	return lines
}

// lines joins lines and slices of lines.
func lines(parts ...any) (all []history.Line) {
	for _, p := range parts {
		switch p := p.(type) {
		case history.Line:
			all = append(all, p)
		case []history.Line:
			all = append(all, p...)
		}
	}
	return all
}

// TestRefusal has a clock that is off from 100 s to 200 s.
func TestRefusal(t *testing.T) {
	t.Parallel()
	n1 := process(1, "n1", 0)
	// during returns four statuses, of which the second and the third show a fault.
	during := func(offset int64) []history.Line {
		return statuses(status(99*second, 0), status(100*second+200*millisecond, offset), status(200*second-200*millisecond, offset), status(210*second, 0))
	}
	off := func(offset int64) []history.Line {
		return lines(clockFault(100*second, 200*second, offset, "n1"), during(offset))
	}
	back, ahead := off(-5*second), off(5*second)
	lateAhead := lines(clockFault(100*second, 200*second, 5*second, "n1"), statuses(status(106*second, 5*second), status(199*second, 5*second)))
	restarted := lines(n1, process(2, "n1", 102*second), clockFault(100*second, 200*second, -5*second, "n1"), statuses(
		changed(status(101*second, 0), func(s *history.Status) { s.Member, s.Start = "n2", 3 }),
		changed(status(103*second, -5*second), func(s *history.Status) { s.Start, s.ObservedMillis = 2, 0 }),
		changed(status(199*second, -5*second), func(s *history.Status) { s.Start = 2 })))
	inside := issued(500, 110*second, 111*second, 1)
	at := func(call int64) history.Issued { return issued(500, call, call+millisecond, 1) }
	refusedFor := func(reason string) history.Op {
		return history.Op{ID: 1, Do: history.DoIDs, Outcome: history.Fail, Call: 101 * second, Return: 102 * second, Start: 1, Reason: reason}
	}
	lowered := status(150*second, -5*second)
	lowered.ObservedMillis = sceneWall / millisecond
	generator := lines(history.Line{Process: &history.Process{Start: 1, Member: "n1", Generator: true, At: second}}, clockFault(100*second, 200*second, -10*second, "n1"))
	others := func(change func(*history.Status)) (all []history.Status) {
		for at := int64(60); at <= 200; at += 5 {
			s := status(at*second, 0)
			s.Member, s.Start = "n2", 9
			change(&s)
			all = append(all, s)
		}
		return all
	}
	for _, c := range []struct {
		name    string
		scene   *scene
		outcome Outcome
		texts   []string
	}{
		{"no faults", newScene(n1).issue("default", inside), Pass, nil},
		{"behind, and nothing issued", newScene(lines(n1, back)...), Pass, nil},
		{"behind, and issued", newScene(lines(n1, back)...).issue("default", at(101*second)), Fail,
			[]string{`ID 500 of layout "default" was issued despite CLOCK_BEHIND, with a clock that was set off by -5s and was`, "start 1 of n1"}},
		{"behind, and caught up", newScene(lines(n1, back)...).issue("default", at(104*second)), Pass, nil},
		{"behind, while others saw more", newScene(lines(n1, back, statuses(status(120*second, -5*second)))...).issue("default", at(121*second)), Fail, nil},
		{"behind, before the fault", newScene(lines(n1, back)...).issue("default", issued(500, 99*second, 101*second, 1)), Pass, nil},
		{"behind, at the start of the fault", newScene(lines(n1, back)...).issue("default", at(100*second+100*millisecond)), Pass, nil},
		{"behind, at the end of the fault", newScene(lines(n1, back)...).issue("default", issued(500, 101*second, 200*second, 1)), Pass, nil},
		{"behind, on another start", newScene(lines(n1, process(2, "n2", 0), back)...).issue("default", issued(500, 101*second, 102*second, 2)), Pass, nil},
		{"behind by the threshold", newScene(lines(n1, off(-1200*millisecond), statuses(status(120*second, -1200*millisecond)))...).issue("default", at(120*second+2*millisecond)), Pass, nil},
		{"behind by a little more than the threshold", newScene(lines(n1, off(-1600*millisecond), statuses(status(120*second, -1600*millisecond)))...).issue("default", at(120*second+2*millisecond)), Fail, nil},
		{"behind, and the observed clock lowered", newScene(lines(n1, back, statuses(lowered))...).issue("default", at(101*second)), Pass, nil},
		{"behind, strobing", newScene(lines(n1, strobing(clockFault(100*second, 200*second, -5*second, "n1")), during(-5*second))...).issue("default", at(101*second)), Pass, nil},
		{"behind, with another skew in a status", newScene(lines(n1, back, statuses(status(150*second, -second)))...).issue("default", at(101*second)), Pass, nil},
		{"behind, in two faults", newScene(lines(n1, back, clockFault(150*second, 160*second, second, "n1"))...).issue("default", at(101*second)), Pass, nil},
		{"behind from the start", newScene(restarted...).issue("default", issued(500, 103*second+10*millisecond, 103*second+20*millisecond, 2)), Fail, []string{"start 2 of n1"}},
		{"behind and refused", newScene(lines(n1, back)...).ops(refusedFor("CLOCK_BEHIND"), refusedFor("SHUTTING_DOWN"), refusedFor("")), Pass, nil},
		{"behind and refused for the window", newScene(lines(n1, back)...).ops(refusedFor("WINDOW_ENDED")), Fail,
			[]string{"operation 1 of client 0 at start 1 of n1 was refused with WINDOW_ENDED, expected CLOCK_BEHIND"}},
		{"behind and refused for a skew", newScene(lines(n1, back)...).ops(refusedFor("CLOCK_SKEW")), Fail, nil},
		{"behind and refused for a skew while others are off", newScene(lines(n1, back, clockFault(90*second, 95*second, second, "n2"))...).ops(refusedFor("CLOCK_SKEW")), Pass, nil},
		{"behind from the start and refused", newScene(lines(process(1, "n1", 100*second+50*millisecond), back)...).ops(refusedFor("WINDOW_ENDED")), Pass, nil},

		{"ahead, and nothing issued", newScene(lines(n1, ahead)...), Pass, nil},
		{"ahead, and issued", newScene(lines(n1, ahead)...).issue("default", inside), Fail, []string{"CLOCK_SKEW, with a clock that was set off by 5s, ahead of all others"}},
		{"ahead, at the end of the fault", newScene(lines(n1, ahead)...).issue("default", issued(500, 150*second, 200*second-100*millisecond, 1)), Pass, nil},
		{"ahead by a little", newScene(lines(n1, off(3*second/2))...).issue("default", inside), Pass, nil},
		{"ahead with others", newScene(lines(n1, ahead, clockFault(70*second, 80*second, second, "n2"))...).issue("default", inside), Pass, nil},
		{"ahead long after others", newScene(lines(n1, ahead, clockFault(50*second, 60*second, second, "n2"))...).issue("default", inside), Fail, nil},
		{"ahead together with all others", newScene(lines(n1, clockFault(100*second, 200*second, 5*second, "n1", "n2", "n3"), during(5*second))...).issue("default", inside), Pass, nil},
		{"behind together with all others", newScene(lines(n1, clockFault(100*second, 200*second, -5*second, "n1", "n2", "n3"), during(-5*second))...).issue("default", at(101*second)), Fail, nil},
		{"ahead from the start, at first", newScene(lines(process(1, "n1", 105*second), lateAhead)...).issue("default", inside), Pass, nil},
		{"ahead from the start, later", newScene(lines(process(1, "n1", 105*second), lateAhead)...).issue("default", at(120*second)), Fail, nil},
		{"ahead from the start, cut off", newScene(lines(process(1, "n1", 105*second), lateAhead, network(106*second, 107*second))...).issue("default", at(120*second)), Pass, nil},
		{"ahead and refused for another reason", newScene(lines(n1, ahead)...).ops(refusedFor("WORKERS_EXHAUSTED")), Fail, nil},

		{"a generator that is behind", newScene(lines(generator, statuses(others(func(*history.Status) {})...))...).issue("default", inside), Fail, nil},
		{"a generator without a leader", newScene(lines(generator, statuses(others(func(s *history.Status) { s.LeaderID = "" })...))...).issue("default", inside), Pass, nil},
		{"a generator with an old observed clock", newScene(lines(generator, statuses(others(func(s *history.Status) { s.ObservedMillis -= 6000 })...))...).issue("default", inside), Pass, nil},

		{"a status that names the clock", newScene(lines(n1, back, statuses(status(99*second, 0), status(101*second, -5*second)))...), Pass, nil},
		{"a status that names another problem", newScene(lines(n1, back, statuses(changed(status(101*second, -5*second), func(s *history.Status) { s.Problem = "no window" })))...), Fail,
			[]string{`the status of start 1 of n1 at 101.001000 s has the problem "no window", expected CLOCK_BEHIND`}},
		{"a status before the member has the state", newScene(lines(n1, statuses(changed(status(101*second, 0), func(s *history.Status) {
			s.Problem, s.OffsetMillis = "this member has not received the state of its cluster", 2000
		})))...), Pass, nil},
		{"a status that names nothing", newScene(lines(n1, statuses(changed(status(101*second, 0), func(s *history.Status) { s.Problem, s.OffsetMillis = "", 2000 })))...), Fail, []string{"CLOCK_SKEW"}},
		{"a status that took long", newScene(lines(n1, statuses(changed(status(101*second, 0), func(s *history.Status) { s.Problem, s.OffsetMillis, s.Call = "", 2000, 100*second })))...), Pass, nil},
		{"a status while the clock is set", newScene(lines(n1, statuses(changed(status(101*second, 0), func(s *history.Status) { s.Problem, s.OffsetMillis, s.SkewCallNanos = "", 2000, 1 })))...), Pass, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			wants(t, Refusal(c.scene.open(t)), c.outcome, c.texts...)
		})
	}
}

func changed(s history.Status, change func(*history.Status)) history.Status {
	change(&s)
	return s
}

// every returns statuses of a correct clock, one per step.
func every(step, from, to int64) []history.Line {
	var all []history.Status
	for at := from; at <= to; at += step {
		all = append(all, status(at, 0))
	}
	return statuses(all...)
}

func strobing(all []history.Line) []history.Line { return named("clock-strobe", all) }

// named gives a fault a name.
func named(name string, all []history.Line) (changed []history.Line) {
	for _, l := range all {
		f := *l.Fault
		f.Name = name
		changed = append(changed, history.Line{Fault: &f})
	}
	return changed
}

// slow makes statuses take 100 ms.
func slow(all []history.Line) []history.Line {
	for _, l := range all {
		l.Status.Call = l.Status.Return - 100*millisecond
	}
	return all
}

func network(from, to int64) []history.Line {
	all := clockFault(from, to, 0, "n1")
	for _, l := range all {
		l.Fault.Family, l.Fault.Event = "network", 1
	}
	return all
}

func TestRefusalWithoutLimits(t *testing.T) {
	t.Parallel()
	s := newScene()
	s.lines[0].Run.WaitThresholdMillis = 0
	wants(t, Refusal(s.open(t)), Invalid, "lacks the limits of clocks")
}

func TestSkewBites(t *testing.T) {
	t.Parallel()
	back := clockFault(100*second, 200*second, -5*second, "n1")
	right := status(150*second, -5*second)
	kill := history.Fault{Name: "kill", Family: "process", Event: 9, At: 150 * second, Ended: true}
	killed := history.Line{Fault: &kill}
	drift := named("clock-drift", clockFault(300*second, 400*second, 0, "n1"))
	far := func(from int64) []history.Line { return clockFault(from*second, (from+100)*second, second, "n1") }
	for _, c := range []struct {
		name    string
		scene   *scene
		outcome Outcome
		texts   []string
	}{
		{"nothing", newScene(), Pass, nil},
		{"bites", newScene(lines(back, statuses(status(99*second, 0), right, status(201*second, 0)))...), Pass, nil},
		{"did not bite", newScene(lines(back, statuses(changed(right, func(s *history.Status) { s.ClockMillis += 5000 })))...), Invalid, []string{"the clock of start 1 was set off by -5s, but was off by"}},
		{"bites a bit less", newScene(lines(back, statuses(changed(right, func(s *history.Status) { s.ClockMillis += 5 })))...), Pass, nil},
		{"bites too little", newScene(lines(back, statuses(changed(right, func(s *history.Status) { s.ClockMillis += 8 })))...), Invalid, nil},
		{"bites too much", newScene(lines(back, statuses(changed(right, func(s *history.Status) { s.ClockMillis -= 8 })))...), Invalid, nil},
		{"a slow answer", newScene(lines(back, statuses(changed(right, func(s *history.Status) { s.Call -= second; s.ClockMillis -= 1000 })))...), Pass, nil},
		{"set meanwhile", newScene(lines(back, statuses(right, changed(status(201*second, 0), func(s *history.Status) { s.SkewCallNanos = -5 * second; s.ClockMillis -= 2000 })))...), Pass, nil},
		{"a clock that is off without a fault", newScene(statuses(changed(status(50*second, 0), func(s *history.Status) { s.ClockMillis += 1000 }))...), Invalid, []string{"was set off by 0s"}},
		{"no answer", newScene(lines(back, statuses(right, history.Status{Member: "n1", Call: 1, Return: 2, Error: "timeout"}))...), Pass, nil},
		{"a strobe", newScene(lines(back, statuses(right), strobing(clockFault(300*second, 400*second, second, "n1")), statuses(changed(status(350*second, 0), func(s *history.Status) { s.ClockMillis += 1000 })))...), Pass, nil},
		{"a strobe that is too far", newScene(lines(back, statuses(right), strobing(clockFault(300*second, 400*second, second, "n1")), statuses(changed(status(350*second, 0), func(s *history.Status) { s.ClockMillis += 1010 })))...), Invalid, []string{"was off by 1.009s"}},
		{"a strobe that is not seen", newScene(lines(back, statuses(right), strobing(clockFault(300*second, 400*second, second, "n1")), every(second, 310*second, 321*second))...), Invalid, []string{"clock-strobe set the clocks of [n1] off from 300.0"}},
		{"a strobe with few statuses", newScene(lines(back, statuses(right), strobing(clockFault(300*second, 400*second, second, "n1")), every(second, 310*second, 320*second))...), Pass, nil},
		{"a drift that is not seen", newScene(lines(back, statuses(right), drift, every(second, 302*second, 320*second))...), Invalid, []string{"clock-drift set the clocks of [n1] off from 300.0"}},
		{"a drift that slow statuses could not show", newScene(lines(back, statuses(right), drift, slow(every(second, 302*second, 330*second)))...), Pass, nil},
		{"one of two is not seen", newScene(lines(back, statuses(right), clockFault(300*second, 400*second, 10*millisecond, "n1"), every(second, 300*second, 302*second))...), Invalid, []string{"none of the 2 statuses"}},
		{"one of two is seen", newScene(lines(back, statuses(right), clockFault(300*second, 400*second, 10*millisecond, "n1"), statuses(status(302*second, 0), status(303*second, 10*millisecond)))...), Pass, nil},
		{"no status could show it", newScene(lines(back, statuses(right), clockFault(300*second, 400*second, 2*millisecond, "n1"), every(second, 300*second, 302*second))...), Pass, nil},
		{"another fault sets the clock as well", newScene(lines(back, statuses(right), clockFault(300*second, 400*second, second, "n1"), clockFault(301*second, 302*second, second, "n1"), every(second, 303*second, 310*second))...), Pass, nil},
		{"never seen", newScene(lines(back, statuses(status(99*second, 0)))...), Invalid, []string{"clocks were set off 1 times"}},
		{"never seen next to another fault", newScene(lines(back, killed, statuses(status(99*second, 0)))...), Pass, nil},
		{"three never seen next to another fault", newScene(lines(back, killed, far(300), far(500), statuses(status(99*second, 0)))...), Invalid, []string{"clocks were set off 3 times"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			wants(t, SkewBites(c.scene.open(t)), c.outcome, c.texts...)
		})
	}
}
