package check

import (
	"testing"

	"github.com/snowraft/snowraft/jepsen/history"
)

func phases(load, faults, healed, end int64) (lines []history.Line) {
	for name, at := range map[string]int64{history.PhaseLoad: load, history.PhaseFaults: faults, history.PhaseHealed: healed, history.PhaseEnd: end} {
		lines = append(lines, history.Line{Phase: &history.Phase{Name: name, At: at * second}})
	}
	return lines
}

// asked returns a request for IDs of start 1, which is n1.
func asked(call, ret int64, outcome history.Outcome) history.Op {
	return history.Op{ID: uint64(call), Workload: "ids", Do: history.DoIDs, Call: call * second, Return: ret * second, Outcome: outcome, Start: 1, Member: "n1", Reason: "WINDOW_ENDED"}
}

func ended(start uint32, at int64) history.Line { return exited(start, at, "") }

func exited(start uint32, at int64, how string) history.Line {
	return history.Line{Process: &history.Process{Start: start, At: at * second, Ended: true, Exit: how}}
}

// held returns s with a lane of layout default for each entry of windows: the worker, and the seconds from the status to
// the window's end.
func held(s history.Status, windows map[uint64]int64) history.Status {
	for worker, left := range windows {
		s.Lanes = append(s.Lanes, history.Lane{Layout: "default", Worker: worker, Token: 1, Until: s.WallNanos/millisecond + left*1000 - (sceneWall/millisecond - 1000)})
	}
	return s
}

// TestLiveness has faults from 10 s to 100 s, and load until 120 s.
func TestLiveness(t *testing.T) {
	t.Parallel()
	strict := func(call, ret int64, outcome history.Outcome) history.Op {
		return history.Op{ID: uint64(call), Workload: "strict", Do: history.DoNext, Key: "s", Call: call * second, Return: ret * second, Outcome: outcome, First: call}
	}
	redis := func(call, ret int64, outcome history.Outcome) history.Op {
		return as(strict(call, ret, outcome), func(o *history.Op) { o.Workload, o.Do = "redis", history.DoIncr })
	}
	ok, fail, info := history.OK, history.Fail, history.Info
	base := lines(process(1, "n1", second), statuses(status(119*second, 0)), phases(1, 10, 100, 120))
	well := func(more ...any) *scene {
		return newScene(lines(append([]any{base}, more...)...)...).ops(asked(101, 102, ok))
	}
	ill := func(more ...any) *scene { return newScene(lines(append([]any{base}, more...)...)...) }
	without := func(change func(*history.Status)) *scene {
		return newScene(lines(process(1, "n1", second), statuses(changed(status(119*second, 0), change)), phases(1, 10, 100, 120))...).ops(asked(101, 102, ok))
	}
	// stalled returns a run in which the machine kept n1 from a processor for some milliseconds.
	stalled := func(ms int64) *scene {
		times := func(ran, waited int64) func(*history.Status) {
			return func(s *history.Status) {
				s.ObservedMillis -= 3500
				s.RanNanos, s.WaitedNanos = ran*millisecond, waited*millisecond
			}
		}
		return newScene(lines(process(1, "n1", second), phases(1, 10, 100, 120), statuses(
			changed(status(116*second, 0), times(1000, 50)), changed(status(118*second, 0), times(1000, 50+ms))))...).ops(asked(101, 102, ok))
	}
	for _, c := range []struct {
		name    string
		scene   *scene
		outcome Outcome
		texts   []string
	}{
		{"answers", well(), Pass, nil},
		{"answers after failures", ill().ops(asked(101, 103, info), asked(104, 104, fail), asked(109, 110, ok)), Pass, nil},
		{"answers too late", ill().ops(asked(101, 103, info), asked(109, 111, ok)), Fail, []string{"member n1 did not answer requests for IDs within 10s of 100.000000 s, only after 11s"}},
		{"answers after a start that the machine delayed", newScene(lines(process(1, "n1", 100*second), phases(1, 10, 100, 140), statuses(
			changed(status(125*second, 0), func(s *history.Status) { s.RanNanos, s.WaitedNanos = 100*millisecond, 30_000*millisecond }), status(139*second, 0)))...).ops(asked(126, 127, ok)), Pass, nil},
		{"never answers", ill().ops(asked(50, 51, ok), asked(101, 103, fail)), Fail, []string{"member n1 did not answer requests for IDs after 100.000000 s; last failure: WINDOW_ENDED"}},
		{"answers only an earlier request", ill().ops(asked(99, 101, ok), asked(101, 103, fail)), Fail, nil},
		{"no requests in the whole run", ill(), Pass, nil},
		{"has no worker of few", ill().ops(as(asked(101, 103, fail), func(o *history.Op) { o.Key, o.Reason = "small", "WORKERS_EXHAUSTED" })), Pass, nil},
		{"has no worker of many", ill().ops(as(asked(101, 103, fail), func(o *history.Op) { o.Key, o.Reason = "default", "WORKERS_EXHAUSTED" })), Fail, nil},
		{"requests only before", ill().ops(asked(50, 51, fail)), Invalid, []string{"no request in that time"}},
		{"answers only an earlier request without an operation", ill().ops(asked(101, 103, fail)).issue("default", issued(500, 99*second, 101*second, 1)), Fail, nil},
		{"a late request", ill().ops(asked(111, 112, ok)), Invalid, nil},
		{"answers without an operation", ill().issue("default", issued(500, 105*second, 106*second, 1)), Pass, nil},
		{"another answers", well(process(2, "n2", second), statuses(changed(status(118*second, 0), func(s *history.Status) { s.Start = 2 }))).ops(as(asked(101, 103, fail), func(o *history.Op) { o.Start, o.Member = 0, "n2" })), Fail, []string{"member n2"}},
		{"another is down", well(process(2, "n2", second), ended(2, 105)), Pass, nil},
		{"a generator", well(history.Line{Process: &history.Process{Start: 2, Member: "g1", Generator: true}}), Pass, nil},
		{"another exits repeatedly", well(process(2, "n2", 102*second), exited(2, 103, "exit status 1"), process(3, "n2", 118*second)), Fail, []string{`start 2 of n2 started after the last fault and exited with "exit status 1" at 103.0`}},
		{"another exits late", well(process(2, "n2", second), exited(2, 101, "exit status 1"), process(3, "n2", 118*second)), Pass, nil},
		{"another is killed late", well(process(2, "n2", 102*second), exited(2, 103, "signal: killed"), process(3, "n2", 118*second)), Pass, nil},
		{"a removed member", well(process(2, "n4", 102*second), exited(2, 103, "exit status 0")), Pass, nil},
		{"never joined", well(process(2, "n4", second)), Pass, nil},
		{"joined", well(process(2, "n4", second), statuses(changed(status(118*second, 0), func(s *history.Status) { s.Start, s.Voter = 2, true }))), Invalid, []string{"member n4"}},
		{"started late", well(process(2, "n2", 115*second)), Pass, nil},
		{"started after the faults", well(process(2, "n2", 105*second), statuses(changed(status(118*second, 0), func(s *history.Status) { s.Start = 2 }))).
			ops(as(asked(114, 115, ok), func(o *history.Op) { o.Start, o.Member = 2, "n2" })), Pass, nil},
		{"no live member", newScene(phases(1, 10, 100, 120)...), Invalid, []string{"no member runs"}},
		{"no phases", newScene(base[:2]...), Invalid, []string{"lacks the end"}},
		{"a load that ended early", newScene(lines(base[:2], phases(1, 10, 100, 105))...).ops(asked(101, 102, fail)), Invalid, nil},

		{"strict answers", well().ops(strict(50, 51, ok), strict(101, 102, ok)), Pass, nil},
		{"strict does not answer", well().ops(strict(50, 51, ok), strict(101, 102, info)), Fail, []string{"strict sequences did not answer after"}},
		{"no strict requests", well().ops(strict(50, 51, ok)), Invalid, nil},
		{"strict never worked", well().ops(strict(50, 51, fail)), Pass, nil},
		{"Redis answers", well().ops(redis(50, 51, ok), redis(101, 102, ok)), Pass, nil},
		{"Redis does not answer", well().ops(redis(50, 51, ok), redis(101, 102, fail)), Fail, []string{"Redis did not answer after"}},

		{"the observed clock is behind", without(func(s *history.Status) { s.ObservedMillis -= 2500 }), Fail, []string{"the observed clock of start 1 of n1 was off by -2.6"}},
		{"the observed clock is ahead", without(func(s *history.Status) { s.ObservedMillis += 2700 }), Fail, nil},
		{"the observed clock is near", without(func(s *history.Status) { s.ObservedMillis -= 2300 }), Pass, nil},
		{"the observed clock is behind by the time of a stall", stalled(1500), Pass, nil},
		{"the observed clock is behind by more than a stall", stalled(300), Fail, nil},
		{"the observed clock was near recently", without(func(*history.Status) {}).status(changed(status(119*second+5, 0), func(s *history.Status) { s.ObservedMillis -= 9000 })), Pass, nil},
		{"the observed clock was near long ago", without(func(s *history.Status) { s.ObservedMillis -= 9000 }).status(status(109*second, 0)), Fail, nil},
		{"no status in the end", without(func(s *history.Status) { s.Return = 99 * second }), Invalid, []string{"reported no status"}},
		{"a permanent skew", without(func(s *history.Status) { s.SkewReturnNanos = 1 }), Invalid, []string{"is still off by"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			wants(t, Liveness(c.scene.open(t), nil), c.outcome, c.texts...)
		})
	}
}

func TestLeakedWorkers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		more  []history.Line // history in addition to n1, which holds worker 1
		limit int            // allowed number of held workers
	}{
		{"one lane", nil, 1},
		{"two lanes", statuses(held(status(119*second, 0), map[uint64]int64{2: 10})), 2},
		{"a lane lost long ago", statuses(held(status(60*second, 0), map[uint64]int64{2: 10}), status(61*second, 0)), 1},
		{"a lane lost recently", statuses(held(status(80*second, 0), map[uint64]int64{2: 15}), status(81*second, 0)), 2},
		{"one process died recently", lines(process(2, "n2", second), ended(2, 119)), 2},
		{"one process died long ago", lines(process(2, "n2", second), ended(2, 3)), 1},
		{"one old process died", lines(process(2, "n2", second), ended(2, 50)), 2},
		{"one process with a reported window died", lines(process(2, "n2", second), ended(2, 101), statuses(changed(held(status(100*second, 0), map[uint64]int64{2: 10}), func(s *history.Status) { s.Start = 2 }))), 2},
		{"one process with a first window died", lines(process(2, "n2", second), ended(2, 113), statuses(changed(held(status(112*second, 0), map[uint64]int64{2: 2}), func(s *history.Status) { s.Start = 2 }))), 2},
		{"one process with an ended window died", lines(process(2, "n2", second), ended(2, 101), statuses(changed(held(status(100*second, 0), map[uint64]int64{2: 3}), func(s *history.Status) { s.Start = 2 }))), 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			all := append(lines(process(1, "n1", second), phases(1, 10, 100, 120)), c.more...)
			all = append(all, statuses(held(status(119*second+millisecond, 0), map[uint64]int64{1: 30}))...)
			r := newScene(all...).ops(asked(101, 102, history.OK)).open(t)
			delete(r.Layouts, "middle")
			delete(r.Layouts, "center")
			delete(r.Layouts, "small")
			wants(t, Liveness(r, func(string) int { return c.limit }), Pass)
			wants(t, Liveness(r, func(string) int { return c.limit + 1 }), Fail, `workers of layout "default" are held at the end`)
		})
	}
}
