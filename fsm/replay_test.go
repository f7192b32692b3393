package fsm

import (
	"slices"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// covers reports how a state fails to cover another one: something that was granted in that one is not in it.
func covers(covering, s *State) error {
	for name, l := range s.layouts {
		c, ok := covering.layouts[name]
		if !ok || c.workers.count() < l.workers.count() {
			return violated("covers", "layout %q, or some worker of it, is missing", name)
		}
		for number := range l.workers.count() {
			if have, want := c.workers.highWater(number), l.workers.highWater(number); have < want {
				return violated("covers", "worker %d of layout %q has the high-water %d, want at least %d", number, name, have, want)
			}
		}
	}
	for q, deleted := range s.sequences.all() {
		c, live := covering.sequences.live.Get(q.name)
		if !live {
			c, _ = covering.sequences.deleted.Get(q.name)
		}
		switch {
		case c == nil, !live && !deleted:
			return violated("covers", "sequence %q is missing", q.name)
		case q.stops.moved() && !c.stops.moved():
			return violated("covers", "sequence %q may be at another system", q.name)
		case c.spec.resets() && !q.spec.resets():
			return violated("covers", "sequence %q begins again with each period", q.name)
		case c.period < q.period && q.spec.resets():
			return violated("covers", "sequence %q is in period %d, before %d", q.name, c.period, q.period)
		case c.period > q.period && c.spec.resets():
		case q.used.some && (!c.used.holds(q.used.low) || !c.used.holds(q.used.high)):
			return violated("covers", "sequence %q covers %+v, not %+v", q.name, c.used, q.used)
		}
		for _, e := range q.late.value().ends {
			l := c.late.value()
			if covering, known := l.find(e.period); c.spec.reset == q.spec.reset && e.period >= l.open &&
				(!known || e.used.some && (!covering.used.holds(e.used.low) || !covering.used.holds(e.used.high))) {
				return violated("covers", "sequence %q covers %+v of the period %d, not %+v", q.name, covering, e.period, e)
			}
		}
	}
	return nil
}

// replayed applies commands to the log's state as the end of a log that may not be committed.
func (l *log) replayed(cmds ...*commandv1.Command) (*log, *Replay) {
	l.t.Helper()
	r := NewReplay(mustRead(l.t, snapshotBytes(l.t, l.State)), Version)
	for i, cmd := range cmds {
		if err := r.Apply(entryAt(l.t, l.index+1+uint64(i), cmd)); err != nil {
			l.t.Fatal(err)
		}
	}
	s, err := r.State()
	if err != nil {
		l.t.Fatal(err)
	}
	after := &log{State: s, t: l.t, index: l.index + uint64(len(cmds))}
	after.survives()
	return after, r
}

func TestReplayedRelease(t *testing.T) {
	l := newLog(t, tiny)
	g := l.must(at(epoch, acquire("a", 10_000))).Grant
	after, _ := l.replayed(at(epoch, release(g, nonceHash('a'), g.From+1)))
	if w := after.Workers("tiny", 0, 1)[0]; w.Until != g.Until || !w.Released {
		t.Errorf("%+v, want an end at %d", w, g.Until)
	}
	after, _ = l.replayed(at(epoch, release(g, nonceHash('a'), g.From+1)), at(epoch+10, acquire("b", 1000)), at(epoch+10, acquire("a", 1000)))
	if w := after.Workers("tiny", 0, 1)[0]; w.Until < g.Until || w.Holder != "a" {
		t.Errorf("%+v, want an end at %d or later", w, g.Until)
	}
}

func TestReplayedSequences(t *testing.T) {
	l := newSequenceLog(t, plain("s"), plain("unused"), plain("daily"))
	b := l.take("s", 10, 0)
	generation := l.seq("s").Generation
	after, _ := l.replayed(
		giveBack("s", b.Token, 5),
		remove("unused"),
		forced(set(plain("s", numbers(1, 1, 1, 100)), generation, 3)),
		change(plain("daily", resetting(resetDaily)), l.seq("daily").Generation), // unused, so nothing repeats
	)
	q, _ := after.sequences.live.Get("s")
	if q.used != (hull{1, 10, true}) || q.spec.max != 100 {
		t.Errorf("%+v, want all ten granted, and the change", q)
	}
	if _, ok := after.Sequence("unused"); !ok {
		t.Error("the deletion was replayed")
	}
	if daily := after.seq("daily").Spec; daily.GetReset_() != resetNone {
		t.Errorf("%v may begin again, though it may have no reset", daily)
	}
	// Without an attested number, the next number lies beyond all ten.
	after.restore(nil)
	if q := after.must(resume("s", after.seq("s").Generation, nil, 0)).Sequence; q.Next != 11 {
		t.Errorf("%+v, want 11 next", q)
	}
}

// A request whose answer was never committed may have been answered with other numbers, or its numbers granted to
// others.
func TestReplayedAnswers(t *testing.T) {
	l := newSequenceLog(t, plain("s"))
	l.must(withID(allocate("s", l.index, 5, 0), "before"))
	after, _ := l.replayed(withID(allocate("s", l.seq("s").Generation, 5, 0), "lost"))
	kept := after.answers.kept()
	if len(kept) != 1 || kept[0].request != "before" {
		t.Errorf("%+v, want the answer before the log only", kept)
	}
}

func TestReplayLimits(t *testing.T) {
	l := newLog(t, tiny)
	config := func(window, offset int64) *commandv1.Config {
		c := DefaultConfig()
		c.MaxWindowMs, c.MaxClockOffsetMs = window, offset
		return c
	}
	l.must(at(epoch+5000, observe(false)))
	after, r := l.replayed(
		setConfig(config(5000, 300), 0), setConfig(config(900_000, 700), l.index+1), setConfig(config(1000, 100), l.index+2),
		at(epoch+1, observe(true)),
	)
	if window, offset := r.Limits(); window != 900_000 || offset != 700 {
		t.Errorf("Limits() = %d, %d", window, offset)
	}
	if after.observed != epoch+1 { // else a clock that was years ahead would keep the cluster from issuing
		t.Errorf("the observed clock is %d, want the one that was forced", after.observed-epoch)
	}
	newer := raise(1)
	newer.Version = Version + 1
	if err := r.Apply(entryAt(t, l.index+9, newer)); err == nil {
		t.Error("a newer command was replayed")
	}
}

// A command about a sequence that Replay does not follow could hide granted numbers.
func TestReplayKnowsCommands(t *testing.T) {
	none := []string{
		"create_layout", "acquire_worker", "extend_window", "release_worker", "observe_clock", "set_config", "raise_version", "checkpoint",
		"remove_member", "create_token", "update_token", "delete_token", "acknowledge_restore", "lead", "seal", "supersede",
		"create_template", "update_template", "delete_template", "resume_template",
		"start_backfill", "extend_backfill", "end_backfill", "resume_backfill",
	}
	name := protoreflect.ValueOfString("s")
	for i := range commandBody.Fields().Len() {
		field := commandBody.Fields().Get(i)
		cmd := &commandv1.Command{}
		body := cmd.ProtoReflect().Mutable(field).Message()
		if f := field.Message().Fields().ByName("name"); f != nil {
			body.Set(f, name)
		} else if f := field.Message().Fields().ByName("spec"); f != nil {
			spec := body.Mutable(f).Message()
			if f := spec.Descriptor().Fields().ByName("name"); f != nil {
				spec.Set(f, name)
			}
		}
		if (sequenceOf(cmd) == "s") == slices.Contains(none, string(field.Name())) {
			t.Errorf("sequenceOf() of %s = %q", field.Name(), sequenceOf(cmd))
		}
	}
}

// The log of a member that halted, because its state is that of two branches, is a source for a restore: its end is replayed.
func TestReplayComparesNoDigests(t *testing.T) {
	l := newOffice(t)
	taken := l.index + 1
	another := [32]byte{1}
	after, _ := l.replayed(checkpoint(0, nil), checkpoint(taken, another[:]), at(epoch+2000, acquire("a", 1000)))
	granted := false
	for _, l := range after.layouts {
		granted = granted || l.workers.highWater(0) > 0
	}
	if !granted {
		t.Error("the grant after the comparison was not replayed")
	}
}
