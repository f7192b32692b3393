package check

import (
	"cmp"
	"math"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"

	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/jepsen/history"
	"github.com/snowraft/snowraft/jepsen/raftlog"
)

func sequenceSpec(name string, increment, low, high int64) *commandv1.SequenceSpec {
	start := low
	if increment < 0 {
		start = high
	}
	return &commandv1.SequenceSpec{
		Name: name, Start: start, Increment: increment, Min: low, Max: high, BlockMs: 1000, MinBlock: 1, MaxBlock: 100,
		Mode: commandv1.SequenceMode_SEQUENCE_MODE_STRICT, Reset_: commandv1.SequenceReset_SEQUENCE_RESET_DAILY, TimeZone: "UTC",
	}
}

func (w *world) mustDo(now int64, cmd *commandv1.Command) fsm.Result {
	w.t.Helper()
	r := w.do(now, cmd)
	if r.Failure() != nil {
		w.t.Fatal(r.Failure())
	}
	return r
}

func (w *world) allocate(generation, count uint64, period int32, request string) fsm.Result {
	return w.do(worldEpoch, &commandv1.Command{Body: &commandv1.Command_AllocateBlock{AllocateBlock: &commandv1.AllocateBlock{
		Name: "s", Count: count, Generation: generation, Period: period, RequestId: []byte(request),
	}}})
}

func (w *world) giveBack(token, unused uint64) fsm.Result {
	return w.do(worldEpoch, &commandv1.Command{Body: &commandv1.Command_ReturnBlock{ReturnBlock: &commandv1.ReturnBlock{
		Name: "s", Token: token, Unused: unused,
	}}})
}

func (w *world) checkpoint(index uint64, digest []byte) fsm.Result {
	return w.do(worldEpoch, &commandv1.Command{Body: &commandv1.Command_Checkpoint{Checkpoint: &commandv1.Checkpoint{Index: index, Digest: digest}}})
}

func configuration(voters ...string) []byte {
	var c raft.Configuration
	for _, v := range voters {
		c.Servers = append(c.Servers, raft.Server{Suffrage: raft.Voter, ID: raft.ServerID(v), Address: raft.ServerAddress(v)})
	}
	c.Servers = append(c.Servers, raft.Server{Suffrage: raft.Nonvoter, ID: "nonvoter", Address: "x"})
	return raft.EncodeConfiguration(c)
}

// A log with everything in it that is allowed.
func TestAuditPasses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.append(raft.LogConfiguration, configuration("a", "b", "c"))
	w.term = 3
	w.append(raft.LogNoop, nil)
	w.append(raft.LogConfiguration, configuration("a", "b", "c", "d"))
	observe := func(now int64, force bool) {
		w.mustDo(now, &commandv1.Command{Body: &commandv1.Command_ObserveClock{ObserveClock: &commandv1.ObserveClock{Force: force}}})
	}
	observe(worldEpoch+5000, false)
	observe(worldEpoch+4000, false)
	observe(worldEpoch, true)
	w.mustDo(worldEpoch, &commandv1.Command{Body: &commandv1.Command_RaiseVersion{RaiseVersion: &commandv1.RaiseVersion{Version: 2}}})
	w.mustDo(worldEpoch, &commandv1.Command{Body: &commandv1.Command_SetConfig{SetConfig: &commandv1.SetConfig{Config: &commandv1.Config{
		MaxWindowMs: 2000, WaitThresholdMs: 500, MaxClockOffsetMs: 100, Rollback: commandv1.RollbackPolicy_ROLLBACK_POLICY_REFUSE,
	}}}})
	first := w.acquire(10, "n1/0", 1)
	w.acquire(20, "n2/0", 2)
	r := w.extend(60, first, 1)
	if r.Failure() != nil {
		t.Fatal(r.Failure())
	}
	if r := w.extend(70, first, 1); r.Err == nil {
		t.Fatal("an extension with an old end")
	}
	w.release(r.Grant, 1, 90)
	if r := w.extend(95, r.Grant, 1); r.Err == nil {
		t.Fatal("an extension after the release")
	}
	w.acquire(80, "n1/0", 3)

	created := w.mustDo(worldEpoch, &commandv1.Command{Body: &commandv1.Command_CreateSequence{CreateSequence: &commandv1.CreateSequence{
		Spec: sequenceSpec("s", -3, math.MinInt64, math.MaxInt64), Period: 20250101,
	}}})
	generation := created.Sequence.Generation
	for range 3 {
		block := w.allocate(generation, 10, 20250101, "").Block
		if r := w.giveBack(block.Token, 4); r.Failure() != nil {
			t.Fatal(r.Failure())
		}
		block = w.allocate(generation, 10, 20250101, "").Block
		if r := w.giveBack(block.Token, 10); r.Failure() != nil {
			t.Fatal(r.Failure())
		}
	}
	for range 2 {
		if r := w.allocate(generation, 7, 20250101, "id"); r.Failure() != nil {
			t.Fatal(r.Failure())
		}
	}
	if r := w.allocate(generation, 7, 20250102, ""); r.Failure() != nil || r.Block.First != math.MaxInt64 {
		t.Fatalf("%+v", r)
	}
	w.checkpoint(0, nil)
	index, digest := w.state.LastCheckpoint()
	w.checkpoint(index, digest[:])
	w.status(history.Status{Member: "n1", Start: 1, Call: 1, Return: 2, Term: 3, Leader: "d", Commit: 4, Applied: 4})
	w.status(history.Status{Member: "n1", Start: 1, Call: 3, Return: 4, Term: 3, Leader: "d", Commit: 5, Applied: 5})
	run, log := w.finish()
	v := LogAudit(run, log)
	wantVerdict(t, v, Pass, "")
	for fact, want := range map[string]int64{
		factEntries: int64(len(w.logs)), factTerms: 2, factWindows: 3, factBlocks: 9, factCheckpoints: 2, factCompared: 1, factConfigs: 2,
		factRefused: 2, factHarvests: 3, factFinal: int64(len(w.logs)),
	} {
		if v.Facts[fact] != want {
			t.Errorf("%d %s, expected %d", v.Facts[fact], fact, want)
		}
	}
}

func (w *world) status(s history.Status) { w.line(history.Line{Status: &s}) }

// Logs and statuses that break a rule.
func TestAuditFails(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		with    func(w *world)
		outcome Outcome
		want    string
	}{
		"another state of the leader": {func(w *world) {
			w.checkpoint(0, nil)
			index, digest := w.state.LastCheckpoint()
			digest[0]++
			w.checkpoint(index, digest[:])
		}, Fail, "the members applied something else"},
		"no command": {func(w *world) { w.append(raft.LogCommand, []byte("x")) }, Fail, "can't be decoded"},
		"two voters at once": {func(w *world) {
			w.append(raft.LogConfiguration, configuration("a", "b", "c"))
			w.append(raft.LogConfiguration, configuration("a", "b", "d"))
		}, Fail, "changes 2 voters at once: +d, -c"},
		"no voters":        {func(w *world) { w.append(raft.LogConfiguration, configuration()) }, Fail, "has no voters"},
		"no configuration": {func(w *world) { w.append(raft.LogConfiguration, []byte{1}) }, Fail, "can't be decoded"},
		"a term that goes back": {func(w *world) {
			w.term = 5
			w.append(raft.LogNoop, nil)
			w.term = 4
			w.append(raft.LogNoop, nil)
		}, Fail, "of term 5"},
		"a gap": {func(w *world) {
			w.append(raft.LogNoop, nil)
			w.append(raft.LogNoop, nil)
			w.logs = append(w.logs[:1:1], w.logs[2:]...)
		}, Invalid, "the committed log is not known"},
		"two leaders": {func(w *world) {
			for call := range int64(2) {
				w.status(history.Status{Member: "n1", Start: 1, Call: 10 * call, Return: 10*call + 1, Term: 7, Leader: "a"})
				w.status(history.Status{Member: "n2", Start: 2, Call: 10 * call, Return: 10*call + 1, Term: 7, Leader: "b"})
			}
		}, Fail, "two leaders in term 7"},
		"a leader that may not vote": {func(w *world) {
			w.append(raft.LogConfiguration, configuration("a", "b", "c"))
			w.term = 7
			w.append(raft.LogNoop, nil)
			for call := range int64(2) {
				w.status(history.Status{Member: "n1", Start: 1, Call: 10 * call, Return: 10*call + 1, Term: 7, Leader: "nonvoter"})
			}
		}, Fail, "which may not vote: [a b c] may"},
		"a lost entry": {func(w *world) { w.status(history.Status{Member: "n1", Start: 1, Commit: 2, Return: 1000}) }, Fail, "what was committed is lost"},
		"a commit index that goes back": {func(w *world) {
			w.status(history.Status{Member: "n1", Start: 1, Call: 1, Return: 2, Commit: 1})
			w.status(history.Status{Member: "n1", Start: 1, Call: 3, Return: 4})
		}, Fail, "commit index of n1 (start 1) went back from 1 to 0"},
		"an applied index that goes back": {func(w *world) {
			w.status(history.Status{Member: "n1", Start: 1, Call: 1, Return: 2, Applied: 1})
			w.status(history.Status{Member: "n1", Start: 1, Call: 3, Return: 4})
		}, Fail, "applied index of n1 (start 1) went back from 1 to 0"},
		"a term of a member that goes back": {func(w *world) {
			w.status(history.Status{Member: "n1", Start: 1, Call: 1, Return: 2, Term: 9})
			w.status(history.Status{Member: "n1", Start: 1, Call: 3, Return: 4, Term: 8})
		}, Fail, "term of n1 (start 1) went back from 9 to 8"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			c.with(w)
			wantVerdict(t, LogAudit(w.finish()), c.outcome, c.want)
		})
	}
}

// Statuses that only seem to break a rule.
func TestAuditOfStatusesThatAreNoFailure(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for call := range int64(2) { // another leader in each answer: the term is not of its moment
		w.status(history.Status{Member: "n1", Start: 1, Call: 10 * call, Return: 10*call + 1, Term: 7, Leader: string(rune('a' + call))})
		w.status(history.Status{Member: "n2", Start: 2, Call: 10 * call, Return: 10*call + 1, Term: 7, Leader: string(rune('b' + call))})
	}
	w.status(history.Status{Member: "n1", Start: 3, Call: 1, Return: 9, Commit: 1})
	w.status(history.Status{Member: "n1", Start: 3, Call: 2, Return: 8})                // at the same time
	w.status(history.Status{Member: "n1", Start: 4, Call: 10, Return: 11})              // another start
	w.status(history.Status{Member: "n1", Start: 4, Call: 12, Return: 13, Error: "no"}) // no answer
	w.status(history.Status{Member: "n1", Start: 4, Call: 1001, Return: 1002, Commit: 99})
	wantVerdict(t, LogAudit(w.finish()), Pass, "")
}

// States of snapshots that are as the log makes them, and some that are not.
func TestAuditOfSnapshots(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(w *world)
		want   string
	}{
		"as the log makes it": {change: func(w *world) { w.takeSnapshot() }},
		"of another index":    {func(w *world) { w.takeSnapshot(); w.snapshotAt-- }, "it applied something else, or left something out"},
		"no state":            {func(w *world) { w.takeSnapshot(); w.snapshot[20] ^= 1 }, "that can't be restored"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.acquire(10, "n1/0", 1)
			w.acquire(20, "n2/0", 2)
			c.change(w)
			w.append(raft.LogNoop, nil)
			w.acquire(200, "n1/0", 3)
			v := LogAudit(w.finish())
			wantVerdict(t, v, failsIf(c.want != ""), c.want)
			if v.Facts[factStates] != 3 {
				t.Errorf("%v", v.Facts)
			}
		})
	}
}

// A long run has to compare something; its world has no checkpoint and no snapshot.
func TestAuditWithoutComparison(t *testing.T) {
	t.Parallel()
	for length, want := range map[time.Duration]Outcome{30 * time.Second: Pass, 2 * time.Minute: Invalid} {
		w := newWorld(t)
		w.acquire(10, "n1/0", 1)
		r, log := w.finish()
		r.Phases = map[string]int64{history.PhaseLoad: second, history.PhaseEnd: second + int64(length)}
		if v := LogAudit(r, log); v.Outcome != want {
			t.Errorf("%v: %+v", length, v)
		}
	}
}

// Lanes that are as granted, and some that are not.
func TestAuditOfLanes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lane history.Lane
		from string
		at   int64
		want string
	}{
		"as acquired":        {lane: history.Lane{Token: 2, From: 10, Until: 110}},
		"as extended":        {lane: history.Lane{Token: 2, From: 10, Until: 160}},
		"nothing":            {lane: history.Lane{Until: 7}},
		"since the harvests": {lane: history.Lane{Token: 99}, at: 1001},
		"not granted":        {lane: history.Lane{Token: 1, From: 10, Until: 110}, want: "grants no such window"},
		"of another worker":  {lane: history.Lane{Worker: 1, Token: 2, From: 10, Until: 110}, want: "grants no such window"},
		"another begin":      {lane: history.Lane{Token: 2, From: 11, Until: 110}, want: "from 10 to an end of [110 160]"},
		"another end":        {lane: history.Lane{Token: 2, From: 10, Until: 170}, want: "from 10 to an end of [110 160]"},
		"of another member":  {lane: history.Lane{Token: 2, From: 10, Until: 110}, from: "n2", want: "grants it to n1/0"},
		"of another start":   {lane: history.Lane{Worker: 1, Token: 4, From: 20, Until: 120}, want: "and start 1's is 01010101"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			g := w.acquire(10, "n1/0", 1)
			if r := w.extend(60, g, 1); r.Failure() != nil {
				t.Fatal(r.Failure())
			}
			w.acquire(20, "n1/0", 2)
			known := history.Lane{Layout: "tiny", Token: 2, From: 10, Until: 110}
			w.status(history.Status{Member: "n1", Start: 1, Lanes: []history.Lane{known}})
			c.lane.Layout = "tiny"
			w.status(history.Status{Member: cmp.Or(c.from, "n1"), Start: 1, Call: 1, Return: max(c.at, 1), Lanes: []history.Lane{c.lane}})
			wantVerdict(t, LogAudit(w.finish()), failsIf(c.want != ""), c.want)
		})
	}
}

// What clients were told that they were granted, and some of that was not.
func TestAuditOfWhatClientsWereTold(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		grant   history.Lane
		outcome history.Outcome
		at      int64
		want    string
	}{
		"as acquired":        {grant: history.Lane{Token: 2, From: 10, Until: 110}},
		"as extended":        {grant: history.Lane{Token: 2, From: 10, Until: 160}},
		"since the harvests": {grant: history.Lane{Token: 99}, at: 1001},
		"not known":          {grant: history.Lane{Token: 99}, outcome: history.Info},
		"not granted":        {grant: history.Lane{Token: 1, From: 10, Until: 110}, want: "grants no such window"},
		"of another worker":  {grant: history.Lane{Worker: 1, Token: 2, From: 10, Until: 110}, want: "grants no such window"},
		"another begin":      {grant: history.Lane{Token: 2, From: 11, Until: 110}, want: "from 10 to an end of [110 160]"},
		"another end":        {grant: history.Lane{Token: 2, From: 10, Until: 170}, want: "from 10 to an end of [110 160]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			if r := w.extend(60, w.acquire(10, "n1/0", 1), 1); r.Failure() != nil {
				t.Fatal(r.Failure())
			}
			c.grant.Layout = "tiny"
			w.line(history.Line{Op: &history.Op{
				ID: 1, Do: history.DoExtend, Outcome: cmp.Or(c.outcome, history.OK), Return: max(c.at, 1), Grant: &c.grant,
			}})
			wantVerdict(t, LogAudit(w.finish()), failsIf(c.want != ""), c.want)
		})
	}
}

// A member of another cluster must not come into the configuration.
func TestAuditOfStrangers(t *testing.T) {
	t.Parallel()
	for ip, outcome := range map[string]Outcome{"10.77.0.150": Fail, "10.77.0.15": Pass} {
		w := newWorld(t)
		w.line(history.Line{Note: &history.Note{Member: "x1", What: history.NoteStranger, Detail: ip}})
		w.append(raft.LogConfiguration, raft.EncodeConfiguration(raft.Configuration{Servers: []raft.Server{
			{Suffrage: raft.Voter, ID: "a", Address: "a@10.77.0.1:7702"},
			{Suffrage: raft.Nonvoter, ID: "b", Address: "b@10.77.0.150:7702"},
		}}))
		want := ""
		if outcome == Fail {
			want = "has x1, b, which is a member of another cluster"
		}
		wantVerdict(t, LogAudit(w.finish()), outcome, want)
	}
}

// A violation that the reader of the log found fails the audit.
func TestAuditOfViolations(t *testing.T) {
	t.Parallel()
	run, log := newWorld(t).finish()
	log.Violations = []string{"two of a kind"}
	wantVerdict(t, LogAudit(run, log), Fail, "two of a kind")
}

// The model of grants, with results that no state machine gives.
func TestGrantsThatBreakARule(t *testing.T) {
	t.Parallel()
	acquire := func(at int64, g fsm.Grant) (int64, *commandv1.Command, fsm.Result) {
		return at, &commandv1.Command{Body: &commandv1.Command_AcquireWorker{AcquireWorker: &commandv1.AcquireWorker{
			Layout: "tiny", Holder: "n1/0", Nonce: worldNonce(1), WindowMs: 1000,
		}}}, fsm.Result{Grant: g}
	}
	claims := func(token uint64, nonce byte, until int64) (*commandv1.ExtendWindow, *commandv1.ReleaseWorker) {
		return &commandv1.ExtendWindow{Layout: "tiny", Token: token, Nonce: worldNonce(nonce), Until: until, WindowMs: 1000},
			&commandv1.ReleaseWorker{Layout: "tiny", Token: token, Nonce: worldNonce(nonce), Until: until, Next: 50}
	}
	extend := func(token uint64, nonce byte, until int64, g fsm.Grant) (int64, *commandv1.Command, fsm.Result) {
		e, _ := claims(token, nonce, until)
		return 60, &commandv1.Command{Body: &commandv1.Command_ExtendWindow{ExtendWindow: e}}, fsm.Result{Grant: g}
	}
	release := func(token uint64, nonce byte, until, next int64) (int64, *commandv1.Command, fsm.Result) {
		_, r := claims(token, nonce, until)
		r.Next = next
		return 60, &commandv1.Command{Body: &commandv1.Command_ReleaseWorker{ReleaseWorker: r}}, fsm.Result{}
	}
	type add func(at int64, cmd *commandv1.Command, result fsm.Result)
	for name, c := range map[string]struct {
		with func(add add)
		want string
	}{
		"below the high-water":    {func(a add) { a(acquire(80, fsm.Grant{Token: 3, From: 80, Until: 180})) }, "everything below 110 was granted already"},
		"beyond the field":        {func(a add) { a(acquire(80, fsm.Grant{Worker: 2, Token: 3, From: 80, Until: 180})) }, "the layout has 2 workers"},
		"the wrong token":         {func(a add) { a(acquire(200, fsm.Grant{Token: 2, From: 200, Until: 300})) }, "under token 2"},
		"in the past":             {func(a add) { a(acquire(200, fsm.Grant{Token: 3, From: 190, Until: 300})) }, "expected from 200 on"},
		"nothing":                 {func(a add) { a(acquire(200, fsm.Grant{Token: 3, From: 200, Until: 200})) }, "expected some ticks"},
		"too long":                {func(a add) { a(acquire(200, fsm.Grant{Token: 3, From: 200, Until: 60_201})) }, "longer than 600000 ms"},
		"another worker":          {func(a add) { a(acquire(200, fsm.Grant{Worker: 1, Token: 3, From: 200, Until: 300})) }, ""},
		"an old token":            {func(a add) { a(extend(1, 1, 110, fsm.Grant{From: 10, Until: 160})) }, "that is not its window"},
		"another nonce":           {func(a add) { a(extend(2, 2, 110, fsm.Grant{From: 10, Until: 160})) }, "that is not its window"},
		"an old end":              {func(a add) { a(extend(2, 1, 100, fsm.Grant{From: 10, Until: 160})) }, "that is not its window"},
		"extended":                {func(a add) { a(extend(2, 1, 110, fsm.Grant{From: 10, Until: 160})) }, ""},
		"extended too far":        {func(a add) { a(extend(2, 1, 110, fsm.Grant{From: 10, Until: 161})) }, "expected 10 to 160"},
		"released by another":     {func(a add) { a(release(2, 2, 110, 50)) }, "that is not its window"},
		"released with another's": {func(a add) { a(release(1, 1, 110, 50)) }, "that is not its window"},
		"released with an end":    {func(a add) { a(release(2, 1, 111, 50)) }, "that is not its window"},
		"released below":          {func(a add) { a(release(2, 1, 110, 9)) }, "which is not in its window, 10 to 110"},
		"released twice": {func(a add) {
			a(release(2, 1, 110, 50))
			a(release(2, 1, 50, 50))
		}, "that is not its window"},
		"refused": {func(a add) {
			at, cmd, _ := release(2, 1, 110, 50)
			a(at, cmd, fsm.Result{Err: &fsm.Refused{Reason: commandv1.Refusal_REFUSAL_WINDOW_MISMATCH}})
		}, "which is its window"},
		"an unknown layout": {func(a add) {
			at, cmd, r := acquire(200, fsm.Grant{Token: 3, From: 200, Until: 300})
			cmd.GetAcquireWorker().Layout = "other"
			a(at, cmd, r)
		}, "which does not exist"},
		"an observed clock that goes back": {func(a add) {
			a(1, &commandv1.Command{Body: &commandv1.Command_ObserveClock{ObserveClock: &commandv1.ObserveClock{}}}, fsm.Result{Observed: 1})
		}, "the observed clock is 1 ms"},
		"granted to a clock behind": {func(a add) {
			a(500, &commandv1.Command{Body: &commandv1.Command_ObserveClock{ObserveClock: &commandv1.ObserveClock{}}}, fsm.Result{Observed: worldEpoch + 5000})
			at, cmd, r := acquire(399, fsm.Grant{Token: 4, From: 399, Until: 499})
			r.Observed = worldEpoch + 5000
			a(at, cmd, r)
		}, "1010 ms behind the observed one"},
		"another configuration": {func(a add) {
			a(1, &commandv1.Command{Body: &commandv1.Command_SetConfig{SetConfig: &commandv1.SetConfig{Config: &commandv1.Config{MaxWindowMs: 1}}}},
				fsm.Result{Config: &commandv1.Config{MaxWindowMs: 2}})
		}, "the configuration is"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newVerdict("x")
			a, index := newAudit(v), uint64(0)
			add := func(at int64, cmd *commandv1.Command, result fsm.Result) {
				index++
				cmd.NowMs = worldEpoch + at*worldSpec.UnitMillis
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

func TestWindowsThatOverlap(t *testing.T) {
	t.Parallel()
	v := newVerdict("x")
	m := newWindowModel(v)
	m.workers[raftlog.Lane{Layout: "tiny"}] = &workerModel{windows: [][2]int64{{1, 5}, {5, 5}, {5, 9}, {7, 7}, {9, 12}}}
	if m.checkDisjoint(); v.Outcome != Pass {
		t.Errorf("%+v", v)
	}
	m.workers[raftlog.Lane{Layout: "tiny"}] = &workerModel{windows: [][2]int64{{1, 5}, {4, 9}}}
	if m.checkDisjoint(); v.Outcome != Fail {
		t.Errorf("%+v", v)
	}
}

// The model of sequences, with results that no state machine gives.
func TestBlocksThatBreakARule(t *testing.T) {
	t.Parallel()
	type add func(cmd *commandv1.Command, block fsm.BlockGrant)
	allocate := func(b fsm.BlockGrant, request string) (*commandv1.Command, fsm.BlockGrant) {
		return &commandv1.Command{Body: &commandv1.Command_AllocateBlock{AllocateBlock: &commandv1.AllocateBlock{
			Name: "s", Count: 10, RequestId: []byte(request),
		}}}, b
	}
	giveBack := func(token, unused uint64) (*commandv1.Command, fsm.BlockGrant) {
		return &commandv1.Command{Body: &commandv1.Command_ReturnBlock{ReturnBlock: &commandv1.ReturnBlock{
			Name: "s", Token: token, Unused: unused,
		}}}, fsm.BlockGrant{}
	}
	update := func(force bool) (*commandv1.Command, fsm.BlockGrant) {
		return &commandv1.Command{Body: &commandv1.Command_UpdateSequence{UpdateSequence: &commandv1.UpdateSequence{
			Spec: sequenceSpec("s", 2, 0, 1000), Force: force,
		}}}, fsm.BlockGrant{}
	}
	// Index 2 grants 100, 102, ..., 118.
	granted := fsm.BlockGrant{First: 100, Count: 10, Increment: 2, Period: 5}
	for name, c := range map[string]struct {
		with func(add add)
		want string
	}{
		"the next":          {func(a add) { a(allocate(fsm.BlockGrant{First: 120, Count: 10, Increment: 2, Period: 5}, "")) }, ""},
		"the last again":    {func(a add) { a(allocate(fsm.BlockGrant{First: 118, Count: 10, Increment: 2, Period: 5}, "")) }, "were granted already"},
		"between":           {func(a add) { a(allocate(fsm.BlockGrant{First: 90, Count: 10, Increment: 2, Period: 5}, "")) }, "were granted already"},
		"before":            {func(a add) { a(allocate(fsm.BlockGrant{First: 80, Count: 10, Increment: 2, Period: 5}, "")) }, ""},
		"one of them":       {func(a add) { a(allocate(fsm.BlockGrant{First: 82, Count: 10, Increment: 2, Period: 5}, "")) }, "were granted already"},
		"again when forced": {func(a add) { a(update(true)); a(allocate(granted, "")) }, ""},
		"again unforced":    {func(a add) { a(update(false)); a(allocate(granted, "")) }, "were granted already"},
		"again in a period": {func(a add) { g := granted; g.Period = 6; a(allocate(g, "")) }, ""},
		"a period before":   {func(a add) { g := granted; g.First, g.Period = 200, 4; a(allocate(g, "")) }, "period 5 had begun"},
		"another increment": {func(a add) { g := granted; g.First, g.Increment = 200, 3; a(allocate(g, "")) }, "its increment is 2"},
		"too many":          {func(a add) { g := granted; g.First, g.Count = 200, 11; a(allocate(g, "")) }, "10 were asked for"},
		"beyond the bounds": {func(a add) { g := granted; g.First = 990; a(allocate(g, "")) }, "expected 0 to 1000"},
		"beyond 64 bits":    {func(a add) { g := granted; g.First = math.MaxInt64 - 17; a(allocate(g, "")) }, "not all numbers of 64 bits"},
		"none":              {func(a add) { g := granted; g.Count = 0; a(allocate(g, "")) }, "not all numbers of 64 bits"},
		"given back": {func(a add) {
			a(giveBack(2, 9))
			a(allocate(fsm.BlockGrant{First: 102, Count: 10, Increment: 2, Period: 5}, ""))
		}, ""},
		"all given back":      {func(a add) { a(giveBack(2, 10)); a(allocate(granted, "")) }, ""},
		"less was given back": {func(a add) { a(giveBack(2, 9)); a(allocate(granted, "")) }, "were granted already"},
		"given back twice":    {func(a add) { a(giveBack(2, 1)); a(giveBack(2, 1)) }, "not the end of its last block"},
		"too much given back": {func(a add) { a(giveBack(2, 11)) }, "not the end of its last block"},
		"another given back":  {func(a add) { a(giveBack(1, 1)) }, "not the end of its last block"},
		"an answer repeated": {func(a add) {
			g := granted
			g.First = 120
			a(allocate(g, "id"))
			g.Repeated = true
			a(allocate(g, "id"))
		}, ""},
		"another answer": {func(a add) {
			g := granted
			g.First = 120
			a(allocate(g, "id"))
			g.First, g.Repeated = 122, true
			a(allocate(g, "id"))
		}, "never given"},
		"an answer given back": {func(a add) {
			g := granted
			g.First = 120
			a(allocate(g, "id"))
			a(giveBack(3, 1))
		}, "not the end of its last block"},
		"of a deleted one": {func(a add) {
			a(&commandv1.Command{Body: &commandv1.Command_DeleteSequence{DeleteSequence: &commandv1.DeleteSequence{Name: "s"}}}, fsm.BlockGrant{})
			a(allocate(granted, ""))
		}, "it does not exist"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newVerdict("x")
			a, index := newAudit(v), uint64(0)
			add := func(cmd *commandv1.Command, block fsm.BlockGrant) {
				index++
				a.take(&raftlog.Applied{Entry: raftlog.Entry{Index: index, Term: 1}, Command: cmd, Result: fsm.Result{Block: block}})
			}
			add(&commandv1.Command{Body: &commandv1.Command_CreateSequence{CreateSequence: &commandv1.CreateSequence{Spec: sequenceSpec("s", 2, 0, 1000), Period: 5}}}, fsm.BlockGrant{})
			add(allocate(granted, ""))
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
