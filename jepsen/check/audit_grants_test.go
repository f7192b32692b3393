package check

import (
	"testing"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"

	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/jepsen/raftlog"
)

// TestAuditOfGrants feeds the model of windows with commands and results, most of which break a rule.
func TestAuditOfGrants(t *testing.T) {
	t.Parallel()
	acquire := func(at int64, g fsm.Grant) (int64, *commandv1.Command, fsm.Result) {
		return at, &commandv1.Command{Body: &commandv1.Command_AcquireWorker{AcquireWorker: &commandv1.AcquireWorker{
			Layout: "tiny", Holder: "n1/0", NonceHash: worldNonce(1), WindowMs: 1000,
		}}}, fsm.Result{Grant: g}
	}
	claims := func(token uint64, nonce byte, until int64) (*commandv1.ExtendWindow, *commandv1.ReleaseWorker) {
		return &commandv1.ExtendWindow{Layout: "tiny", Token: token, NonceHash: worldNonce(nonce), UntilTick: until, WindowMs: 1000},
			&commandv1.ReleaseWorker{Layout: "tiny", Token: token, NonceHash: worldNonce(nonce), UntilTick: until, NextTick: 50}
	}
	extend := func(token uint64, nonce byte, until int64, g fsm.Grant) (int64, *commandv1.Command, fsm.Result) {
		e, _ := claims(token, nonce, until)
		return 60, &commandv1.Command{Body: &commandv1.Command_ExtendWindow{ExtendWindow: e}}, fsm.Result{Grant: g}
	}
	release := func(token uint64, nonce byte, until, next int64) (int64, *commandv1.Command, fsm.Result) {
		_, r := claims(token, nonce, until)
		r.NextTick = next
		return 60, &commandv1.Command{Body: &commandv1.Command_ReleaseWorker{ReleaseWorker: r}}, fsm.Result{}
	}
	type add func(at int64, cmd *commandv1.Command, result fsm.Result)
	for name, c := range map[string]struct {
		with func(add add)
		want string
	}{
		"below the high-water":       {func(a add) { a(acquire(80, fsm.Grant{Token: 3, From: 80, Until: 180})) }, "all ticks below 110 were already granted"},
		"beyond the field":           {func(a add) { a(acquire(80, fsm.Grant{Worker: 2, Token: 3, From: 80, Until: 180})) }, "the layout has 2 workers"},
		"the wrong token":            {func(a add) { a(acquire(200, fsm.Grant{Token: 2, From: 200, Until: 300})) }, "its token is 2, expected the index"},
		"in the past":                {func(a add) { a(acquire(200, fsm.Grant{Token: 3, From: 190, Until: 300})) }, "expected the first tick 200"},
		"nothing":                    {func(a add) { a(acquire(200, fsm.Grant{Token: 3, From: 200, Until: 200})) }, "expected at least one tick"},
		"too long":                   {func(a add) { a(acquire(200, fsm.Grant{Token: 3, From: 200, Until: 60_201})) }, "more than 600000 ms after"},
		"another worker":             {func(a add) { a(acquire(200, fsm.Grant{Worker: 1, Token: 3, From: 200, Until: 300})) }, ""},
		"an old token":               {func(a add) { a(extend(1, 1, 110, fsm.Grant{From: 10, Until: 160})) }, "which is not the present window"},
		"another nonce":              {func(a add) { a(extend(2, 2, 110, fsm.Grant{From: 10, Until: 160})) }, "which is not the present window"},
		"an old end":                 {func(a add) { a(extend(2, 1, 100, fsm.Grant{From: 10, Until: 160})) }, "which is not the present window"},
		"extended":                   {func(a add) { a(extend(2, 1, 110, fsm.Grant{From: 10, Until: 160})) }, ""},
		"extended too far":           {func(a add) { a(extend(2, 1, 110, fsm.Grant{From: 10, Until: 161})) }, "expected ticks 10 to 160"},
		"released by another":        {func(a add) { a(release(2, 2, 110, 50)) }, "which is not the present window"},
		"released with an old token": {func(a add) { a(release(1, 1, 110, 50)) }, "which is not the present window"},
		"released with an end":       {func(a add) { a(release(2, 1, 111, 50)) }, "which is not the present window"},
		"released below":             {func(a add) { a(release(2, 1, 110, 9)) }, "which is not in its window from 10 to 110"},
		"released twice": {func(a add) {
			a(release(2, 1, 110, 50))
			a(release(2, 1, 50, 50))
		}, "which is not the present window"},
		"refused": {func(a add) {
			at, cmd, _ := release(2, 1, 110, 50)
			a(at, cmd, fsm.Result{Err: &fsm.Refused{Reason: commandv1.Refusal_REFUSAL_WINDOW_MISMATCH}})
		}, "which is the present window"},
		"an unknown layout": {func(a add) {
			at, cmd, r := acquire(200, fsm.Grant{Token: 3, From: 200, Until: 300})
			cmd.GetAcquireWorker().Layout = "other"
			a(at, cmd, r)
		}, "which does not exist"},
		"an observed clock that moves backwards": {func(a add) {
			a(1, &commandv1.Command{Body: &commandv1.Command_ObserveClock{ObserveClock: &commandv1.ObserveClock{}}}, fsm.Result{Observed: 1})
		}, "the observed clock is 1 ms"},
		"granted to a clock behind": {func(a add) {
			a(500, &commandv1.Command{Body: &commandv1.Command_ObserveClock{ObserveClock: &commandv1.ObserveClock{}}}, fsm.Result{Observed: worldEpoch + 5000})
			at, cmd, r := acquire(399, fsm.Grant{Token: 4, From: 399, Until: 499})
			r.Observed = worldEpoch + 5000
			a(at, cmd, r)
		}, "1010 ms behind the observed clock"},
		"another configuration": {func(a add) {
			a(1, &commandv1.Command{Body: &commandv1.Command_SetConfig{SetConfig: &commandv1.SetConfig{Config: &commandv1.Config{MaxWindowMs: 1}}}},
				fsm.Result{Config: &commandv1.Config{MaxWindowMs: 2}})
		}, "the configuration is"},
		"a configuration of another generation": {func(a add) {
			a(1, &commandv1.Command{Body: &commandv1.Command_SetConfig{SetConfig: &commandv1.SetConfig{Config: &commandv1.Config{MaxWindowMs: 1}, Generation: 1}}},
				fsm.Result{Config: &commandv1.Config{MaxWindowMs: 1, Generation: 3}})
		}, "replaces the configuration of generation 1, expected generation 0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newVerdict("x")
			a, index := newAudit(v), uint64(0)
			add := func(at int64, cmd *commandv1.Command, result fsm.Result) {
				index++
				cmd.ClockAtMs = worldEpoch + at*worldSpec.UnitMillis
				a.take(&raftlog.Applied{Entry: raftlog.Entry{Index: index, Term: 1}, Command: cmd, Result: result})
			}
			add(0, &commandv1.Command{Body: &commandv1.Command_CreateLayout{CreateLayout: &commandv1.CreateLayout{Spec: fsm.LayoutSpec(worldSpec)}}}, fsm.Result{})
			add(acquire(10, fsm.Grant{Token: 2, From: 10, Until: 110}))
			c.with(add)
			v.Summary = "-"
			if c.want == "" {
				wantVerdict(t, *v, Pass, "")
			} else {
				wantVerdict(t, *v, Fail, c.want)
			}
		})
	}
}

func TestAuditOfOverlappingWindows(t *testing.T) {
	t.Parallel()
	v := newVerdict("x")
	m := newWindowModel(v)
	m.workers[raftlog.Lane{Layout: "tiny"}] = &workerModel{windows: [][2]int64{{1, 5}, {5, 5}, {5, 9}, {7, 7}, {9, 12}}}
	if m.checkDisjoint(); v.Outcome != Pass {
		t.Errorf("disjoint windows: %+v, want %s", v, Pass)
	}
	m.workers[raftlog.Lane{Layout: "tiny"}] = &workerModel{windows: [][2]int64{{1, 5}, {4, 9}}}
	if m.checkDisjoint(); v.Outcome != Fail {
		t.Errorf("overlapping windows: %+v, want %s", v, Fail)
	}
}
