package check

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/snowraft/snowraft/internal/test/depth"
	"github.com/snowraft/snowraft/jepsen/history"
	"github.com/snowraft/snowraft/snowflake"
)

// issued returns a range of five IDs that a start issued between two moments.
func issued(first uint64, call, ret int64, start uint32) history.Issued {
	return history.Issued{First: first, Step: 1, Count: 5, Op: uint64(call), Call: call, Return: ret, Start: start, Client: 2}
}

func inSession(i history.Issued, session uint32) history.Issued {
	i.Session = session
	return i
}

// sequence returns an answered request of three numbers, with its call and its return.
func sequence(workload string, call, ret, first int64) history.Op {
	return history.Op{ID: uint64(call), Workload: workload, Do: history.DoNext, Key: workload + "/a", Client: 4, Call: call, Return: ret, Outcome: history.OK, First: first, Count: 3, Increment: 1, Start: 1}
}

func TestOrder(t *testing.T) {
	t.Parallel()
	const worker = 1 << 12
	leased := history.Line{Layout: &history.Layout{Name: "leased", Fields: sceneLayouts["default"], UnitMillis: 1, EpochMillis: sceneWall/1e6 - 1000, LeaseOnly: true}}
	floored := func(after uint64) *scene {
		return newScene().ops(history.Op{ID: 10, Do: history.DoIDs, Outcome: history.OK, After: after},
			history.Op{ID: 11, Do: history.DoIDs, Outcome: history.OK, After: 5}).issue("default", issued(100, 10, 20, 1))
	}
	down := func(o *history.Op) { o.Increment = -1 }
	info := func(o *history.Op) { o.Outcome = history.Info }
	read := func(o *history.Op) { o.Do = history.DoRead }
	for _, c := range []struct {
		name    string
		scene   *scene
		outcome Outcome
		texts   []string
	}{
		{"nothing", newScene(), Pass, nil},
		{"a lane ascends", newScene().issue("default", issued(100, 10, 20, 1), issued(105, 30, 40, 1)), Pass, nil},
		{"a lane descends", newScene().issue("default", issued(105, 10, 20, 1), issued(100, 30, 40, 1)), Fail,
			[]string{`IDs of worker 0 of start 1 in layout "default" do not ascend: 100 was requested after 109 was returned`, "operation 30", "operation 10"}},
		{"a lane enters an earlier range", newScene().issue("default", issued(105, 10, 20, 1), issued(109, 30, 40, 1)), Fail, nil},
		{"at the same time", newScene().issue("default", issued(105, 10, 30, 1), issued(100, 30, 40, 1)), Pass, nil},
		{"below an old ID", newScene().issue("default", issued(105, 10, 20, 1), issued(50, 15, 25, 1), issued(95, 30, 40, 1)), Fail, nil},
		{"two starts", newScene().issue("default", issued(105, 10, 20, 1), issued(100, 30, 40, 2)), Pass, nil},
		{"two workers", newScene().issue("default", issued(105+worker, 10, 20, 1), issued(100, 30, 40, 1)), Pass, nil},
		{"two layouts", newScene().issue("default", issued(105, 10, 20, 1)).issue("center", issued(100, 30, 40, 1)), Pass, nil},
		{"a foreign generator descends", newScene(leased).issue("leased", issued(105, 10, 20, 1), issued(100, 30, 40, 1)), Pass, nil},
		{"no start", newScene().issue("default", issued(105, 10, 20, 0), issued(100, 30, 40, 0)), Pass, nil},

		{"a session ascends", newScene().issue("default", inSession(issued(100, 10, 20, 1), 1), inSession(issued(105+worker, 30, 40, 2), 1)), Pass, nil},
		{"a session descends", newScene().issue("default", inSession(issued(105+worker, 10, 20, 1), 1), inSession(issued(100, 30, 40, 2), 1)), Fail,
			[]string{`IDs of session 1 in layout "default" do not ascend`}},
		{"two sessions", newScene().issue("default", inSession(issued(105+worker, 10, 20, 1), 1), inSession(issued(100, 30, 40, 2), 2)), Pass, nil},

		{"above the floor", floored(99), Pass, nil},
		{"at the floor", floored(100), Fail, []string{`ID 100 of layout "default" is not greater than 100, the floor of its request`}},
		{"below the floor", floored(1 << 40), Fail, []string{"is not greater than 1099511627776"}},

		{"relaxed ascends", newScene().ops(sequence("relaxed", 10, 20, 1), sequence("relaxed", 30, 40, 4)), Pass, nil},
		{"relaxed descends", newScene().ops(sequence("relaxed", 10, 20, 4), sequence("relaxed", 30, 40, 1)), Fail,
			[]string{`numbers of sequence "relaxed/a" from start 1 are out of order: 1 (operation 30 of client 4) was requested at 0.000000 s, after 6 (operation 10`}},
		{"relaxed with a number below 0", newScene().ops(sequence("relaxed", 10, 20, -4), sequence("relaxed", 30, 40, 1)), Pass, nil},
		{"relaxed on two members", newScene().ops(sequence("relaxed", 10, 20, 4), as(sequence("relaxed", 30, 40, 1), func(o *history.Op) { o.Start = 2 })), Pass, nil},
		{"relaxed counts down", newScene().ops(as(sequence("relaxed", 10, 20, 4), down), as(sequence("relaxed", 30, 40, 1), down)), Pass, nil},
		{"relaxed counts down and goes up", newScene().ops(as(sequence("relaxed", 10, 20, 1), down), as(sequence("relaxed", 30, 40, 4), down)), Fail, []string{": 4 (operation 30", "after -1 (operation 10"}},
		{"relaxed with a request's ID", newScene().ops(sequence("relaxed", 10, 20, 4), as(sequence("relaxed", 30, 40, 1), request)), Pass, nil},
		{"relaxed, lost", newScene().ops(sequence("relaxed", 10, 20, 4), as(sequence("relaxed", 30, 40, 1), info)), Pass, nil},

		{"strict ascends", newScene().ops(sequence("strict", 10, 20, 1), sequence("strict", 30, 40, 4)), Pass, nil},
		{"strict descends", newScene().ops(sequence("strict", 10, 20, 4), sequence("strict", 30, 40, 1)), Fail,
			[]string{`strict sequence "strict/a"`, "operation 10 of client 4, start 1", "operation 30 of client 4, start 1", "have no sequential order"}},
		{"strict descends on two members", newScene().ops(sequence("strict", 10, 20, 4), as(sequence("strict", 30, 40, 1), func(o *history.Op) { o.Start = 2 })), Fail, nil},
		{"strict over Redis", newScene().ops(sequence("redis", 10, 20, 4), as(sequence("redis", 30, 40, 1), func(o *history.Op) { o.Do, o.Start = history.DoIncr, 0 })), Fail, nil},
		{"strict at the same time", newScene().ops(sequence("strict", 10, 30, 4), sequence("strict", 30, 40, 1)), Pass, nil},
		{"strict, lost", newScene().ops(sequence("strict", 10, 20, 4), as(sequence("strict", 30, 40, 1), info)), Pass, nil},
		{"strict counts down", newScene().ops(as(sequence("strict", 10, 20, 4), down), as(sequence("strict", 30, 40, 1), down), as(sequence("strict", 50, 60, -1), read)), Pass, nil},
		{"strict counts down and goes up", newScene().ops(as(sequence("strict", 10, 20, 1), down), as(sequence("strict", 30, 40, 4), down)), Fail, nil},
		{"strict in steps", newScene().ops(as(sequence("strict", 10, 20, 4), func(o *history.Op) { o.Increment = 5 }), as(sequence("strict", 30, 40, 9), func(o *history.Op) { o.Increment = 5 })), Fail, nil},
		{"read of the last number", newScene().ops(sequence("strict", 10, 20, 4), as(sequence("strict", 30, 40, 6), read)), Pass, nil},
		{"read of an old number", newScene().ops(sequence("strict", 10, 20, 4), as(sequence("strict", 30, 40, 3), read)), Fail, nil},
		{"a request with a lost first answer", newScene().ops(as(as(sequence("strict", 5, 15, 0), request), info), sequence("strict", 20, 30, 4), as(sequence("strict", 40, 50, 1), request)), Pass, nil},
		{"a request with a later first attempt", newScene().ops(as(as(sequence("strict", 31, 39, 0), request), info), sequence("strict", 20, 30, 4), as(sequence("strict", 40, 50, 1), request)), Fail, nil},
		{"a request with two answers", newScene().ops(as(sequence("strict", 5, 15, 1), request), sequence("strict", 20, 30, 4), as(sequence("strict", 40, 50, 1), request)), Pass, nil},
		{"a request without an answer", newScene().ops(as(as(sequence("strict", 5, 15, 0), request), info), sequence("strict", 20, 30, 4)), Pass, nil},
		{"strict by its mode", newScene(history.Line{Sequence: &history.Sequence{Name: "relaxed/a", Mode: history.ModeStrict}}).
			ops(sequence("relaxed", 10, 20, 4), as(sequence("relaxed", 30, 40, 1), func(o *history.Op) { o.Start = 2 })), Fail, nil},
		{"relaxed by its mode", newScene(history.Line{Sequence: &history.Sequence{Name: "strict/a", Mode: history.ModeRelaxed}}).
			ops(sequence("strict", 10, 20, 4), as(sequence("strict", 30, 40, 1), func(o *history.Op) { o.Start = 2 })), Pass, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			wants(t, Order(c.scene.open(t)), c.outcome, c.texts...)
			wants(t, OrderWithin(c.scene.open(t), 2*entrySize), c.outcome, c.texts...)
		})
	}
}

// TestOrderAgainstAllPairs compares Order with a check of every pair in random histories.
func TestOrderAgainstAllPairs(t *testing.T) {
	t.Parallel()
	failed, histories := 0, depth.Of(50, 150)
	layouts := newScene().open(t).Layouts
	for seed := range uint64(histories) {
		r := rand.New(rand.NewPCG(seed, 2))
		name := []string{"default", "middle", "center"}[seed%3]
		layout := layouts[name]
		var all []history.Issued
		for k := range 2 + r.IntN(30) {
			call := int64(k*10 + r.IntN(20))
			id, err := layout.Pack(snowflake.Parts{Tick: int64(1 + k/3 + r.IntN(3)), Worker: r.Uint64N(4), Sequence: r.Uint64N(20)})
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, history.Issued{
				First: id, Step: layout.Step(), Count: 1 + r.Uint32N(4), Op: uint64(k + 1), Call: call, Return: call + r.Int64N(40),
				Start: r.Uint32N(4), Session: max(r.Uint32N(40), 36) - 36,
			})
		}
		r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		bad := false
		for _, a := range all {
			for _, b := range all {
				pa, _ := layout.Unpack(a.First)
				pb, _ := layout.Unpack(b.First)
				lane := a.Start > 0 && a.Start == b.Start && pa.Worker == pb.Worker
				session := a.Session > 0 && a.Session == b.Session
				bad = bad || (lane || session) && a.Return < b.Call && b.First <= a.Last()
			}
		}
		v := OrderWithin(newScene().issue(name, all...).open(t), entrySize*(1+r.IntN(20)))
		if (v.Outcome == Fail) != bad || v.Outcome == Invalid {
			t.Errorf("seed %d: OrderWithin() = %+v, want failure: %t", seed, v, bad)
		}
		if bad {
			failed++
		}
	}
	if failed < histories/5 || failed > histories*4/5 {
		t.Errorf("%d of %d histories are out of order, want a fifth to four fifths", failed, histories)
	}
}

func TestOrderDrawsStrictSequences(t *testing.T) {
	t.Parallel()
	s := newScene()
	for k := range int64(1000) {
		s.ops(sequence("strict", 10*k, 10*k+5+k%100, 3*k))
	}
	for _, bad := range []bool{false, true} {
		if bad {
			s.ops(sequence("strict", 3003, 3004, 1)) // among calls with little overlap
		}
		r := s.open(t)
		v := Order(r)
		if (v.Outcome == Fail) != bad || !bad && v.Facts["slices"] != 4 {
			t.Errorf("Order() = %+v, want failure: %t, and 4 slices without a failure", v, bad)
		}
		page, err := os.ReadFile(filepath.Join(r.Dir, "porcupine-strict%2Fa.html"))
		if err != nil || strings.Contains(string(page), "operation 3003 of") != bad {
			t.Errorf("visualization: %d bytes, error %v; want operation 3003 in it: %t", len(page), err, bad)
		}
	}
}
