package fsm

import (
	"fmt"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// The proposals of members, clients and operators of a life, which look at a state: the true one, or that of a leader
// whose log is never committed.

// livesZones are hours ahead of UTC.
var livesZones = map[string]int64{"UTC": 0, "east": 14, "west": -12}

// livesPeriod is the period of a time in a zone.
func livesPeriod(p Periods, at int64) (int32, error) {
	hours, ok := livesZones[p.TimeZone]
	if !ok {
		return 0, fmt.Errorf("no time zone %q", p.TimeZone)
	}
	return periodOf(p, at+hours*livesHour)
}

func (w *lives) command(s *State) *commandv1.Command {
	cmd := w.body(s)
	if cmd != nil {
		cmd.Version, cmd.ClockAtMs = MinVersion(cmd), w.clock()
	}
	return cmd
}

func (w *lives) body(s *State) *commandv1.Command {
	if w.documents && w.choose("number", 3) == 0 {
		return w.allocate(s)
	}
	kind := w.choose("command", 30)
	if w.counting && kind < 24 && kind != 8 { // the others configure the cluster, or take numbers
		kind = []int{10, 11, 12, 24}[w.choose("about a sequence", 4)]
	}
	switch kind {
	case 0, 1, 2, 3:
		return w.acquire()
	case 4, 5:
		return w.claimWindow(false)
	case 6:
		return w.claimWindow(true)
	case 7:
		return observe(w.choose("force", 6) == 0)
	case 8:
		return w.configure(s)
	case 9:
		return createLayout(livesSpecs[w.choose("layout", len(livesSpecs))])
	case 10:
		return w.claimBlock()
	case 11:
		return w.askAgain()
	case 12, 13, 14:
		return w.administer(s)
	case 15:
		return w.history(s)
	case 16, 17, 18, 19:
		return w.template(s)
	case 20, 21, 22, 23:
		return w.backfill(s)
	}
	return w.allocate(s)
}

func (w *lives) secret() []byte { return nonceHash(byte('a' + w.choose("process", 3))) }

func (w *lives) acquire() *commandv1.Command {
	cmd := acquire(fmt.Sprint("holder-", w.choose("holder", 3)), []int64{1000, 2000, 20_000}[w.choose("window", 3)])
	c := cmd.GetAcquireWorker()
	c.Layout, c.NonceHash = livesSpecs[w.choose("layout", len(livesSpecs))].Name, w.secret()
	return cmd
}

// claimWindow extends or releases a window of any life, which its holder may have lost.
func (w *lives) claimWindow(give bool) *commandv1.Command {
	if len(w.claims) == 0 {
		return nil
	}
	claim := w.claims[len(w.claims)-1-min(w.choose("claim", 12), len(w.claims)-1)]
	if claim.layout == "" {
		return nil
	}
	var cmd *commandv1.Command
	if give {
		cmd = release(claim.window, claim.secret, claim.window.From+int64(w.choose("next", 3)))
		cmd.GetReleaseWorker().Layout = claim.layout
	} else {
		cmd = extend(claim.window, claim.secret, claim.window.Until, []int64{1000, 20_000}[w.choose("window", 2)])
		cmd.GetExtendWindow().Layout = claim.layout
	}
	w.sent[cmd] = claim.life
	return cmd
}

func (w *lives) claimBlock() *commandv1.Command {
	if len(w.claims) == 0 {
		return nil
	}
	claim := w.claims[len(w.claims)-1-min(w.choose("claim", 12), len(w.claims)-1)]
	if claim.name == "" {
		return nil
	}
	cmd := withKey(giveBack(claim.name, claim.block.Token, min(claim.block.Count, uint64(1+w.choose("unused", 3)))), claim.secret)
	w.sent[cmd] = claim.life
	return cmd
}

func (w *lives) configure(s *State) *commandv1.Command {
	return setConfig(&commandv1.Config{
		MaxWindowMs: []int64{1000, 2000, 5000, 20_000}[w.choose("max window", 4)], WaitThresholdMs: []int64{1, 250, 1000, 5000}[w.choose("threshold", 4)],
		MaxClockOffsetMs: livesOffset, Rollback: commandv1.RollbackPolicy(1 + w.choose("rollback", 2)),
		RedisCreate: commandv1.AutoCreate(2 + w.choose("create", 2)), Upgrades: commandv1.Upgrades_UPGRADES_AUTO,
	}, s.Config().GetGeneration())
}

// askAgain repeats a request with an ID, of any life.
func (w *lives) askAgain() *commandv1.Command {
	if len(w.asked) == 0 {
		return nil
	}
	c := w.asked[w.choose("asked", len(w.asked))].GetAllocateBlock()
	q, ok := w.s.Sequence(c.GetName())
	if !ok {
		return nil
	}
	period, _ := livesPeriod(PeriodsOf(q.Spec), w.clock())
	return withID(allocate(c.GetName(), q.Generation, c.GetCount(), period), string(c.GetRequestId()))
}

// name returns the name of a sequence.
func (w *lives) name() string {
	if w.counting {
		return livesNames[0]
	}
	return livesNames[w.choose("name", len(livesNames))]
}

var livesNames = []string{"a", "b", "c", "t/1", "t/a1"}

func (w *lives) allocate(s *State) *commandv1.Command {
	q, ok := s.Sequence(w.name())
	if !ok {
		return nil
	}
	period, _ := livesPeriod(PeriodsOf(q.Spec), w.clock())
	cmd := allocate(q.Spec.GetName(), q.Generation, []uint64{1, 2, 5}[w.choose("count", 3)], period)
	late := q.Spec.GetLateMs() != 0 && w.choose("late", 2) == 0
	if q.Spec.GetLateMs() != 0 {
		cmd.GetAllocateBlock().OpenFrom = w.openFrom(s, q.Spec)
	}
	if late {
		cmd = w.ofEarlier(cmd, q)
	}
	if w.choose("ID", 4) == 0 {
		w.drawn++
		cmd = withID(cmd, fmt.Sprint("request-", w.drawn))
		w.asked = append(w.asked, cmd)
		return cmd
	}
	if late {
		return cmd
	}
	return withKey(cmd, w.secret())
}

// openFrom returns the first open period of a sequence whose numbers can be late.
func (w *lives) openFrom(s *State, spec *commandv1.SequenceSpec) int32 {
	period, _ := livesPeriod(PeriodsOf(spec), s.observed-spec.GetLateMs())
	return period
}

// ofEarlier wants numbers of an earlier period. The next number that a caller may state is where the period ended, without the
// late numbers.
func (w *lives) ofEarlier(cmd *commandv1.Command, q Sequence) *commandv1.Command {
	period, _ := livesPeriod(PeriodsOf(q.Spec), w.now-int64(w.choose("back", 4))*24*livesHour)
	cmd = of(period, cmd, cmd.GetAllocateBlock().GetOpenFrom())
	if period >= q.Period || w.choose("state", 2) == 0 {
		return cmd
	}
	from := q.Spec.GetStart()
	if last, some := w.lastIn(q, period, false); some {
		from = max(from, last+1)
	}
	return stated(from, cmd)
}

// lastIn returns the last number of a period in the sequence's direction, which is upward, with or without late numbers.
func (w *lives) lastIn(q Sequence, period int32, late bool) (n int64, some bool) {
	for g, grant := range w.numbers {
		if g.name == q.Spec.GetName() && g.period == period && (late || !grant.late) && (!some || g.number > n) {
			n, some = g.number, true
		}
	}
	return n, some
}

func (w *lives) spec(name string) *commandv1.SequenceSpec {
	n := [][4]int64{{1, 1, 1, 1000}, {1, 3, 1, 1000}, {500, -2, -1000, 1000}, {20, 1, 20, 60}}[w.choose("numbers", 4)]
	spec := plain(name, numbers(n[0], n[1], n[2], n[3]), resetting([]commandv1.SequenceReset{resetNone, resetDaily, resetMonthly}[w.choose("reset", 3)]),
		func(s *commandv1.SequenceSpec) { s.TimeZone = []string{"UTC", "east", "west"}[w.choose("zone", 3)] })
	switch {
	case w.documents && w.choose("late", 4) > 0 && spec.GetIncrement() > 0:
		spec.Reset_, spec.LateMs = []commandv1.SequenceReset{resetDaily, resetDaily, resetWeekly}[w.choose("late reset", 3)], []int64{48, 2000}[w.choose("long", 2)]*livesHour
	case w.documents:
		spec.Reset_ = []commandv1.SequenceReset{resetDaily, resetWeekly, resetQuarterly, resetYearly}[w.choose("reset", 4)]
		spec.YearStarts = livesStarts[w.choose("years start", 3)]
	}
	if w.counting {
		spec.Reset_, spec.YearStarts = resetDaily, 0
	}
	return spec
}

// livesStarts are starts of years near the epoch of the lives, so that quarters and years begin while they last.
var livesStarts = []uint32{0, 106, 1203}

// administer creates, changes and deletes sequences.
func (w *lives) administer(s *State) *commandv1.Command {
	name := w.name()
	spec, force := w.spec(name), w.life == 1 && w.choose("force", 4) == 0
	q, ok := s.Sequence(name)
	switch {
	case !ok && w.life > 1 && w.strange(s, name):
		return nil
	case !ok:
		period, _ := livesPeriod(PeriodsOf(spec), w.clock())
		cmd := create(spec, period)
		if cmd.GetCreateSequence().Force = force; !force && w.choose("on demand", 3) == 0 {
			cmd = onDemand(cmd)
		}
		return cmd
	case w.choose("delete", 3) == 0 && (!w.counting || w.choose("again", 3) == 0):
		return remove(name)
	}
	if w.counting || w.choose("keep", 2) == 0 {
		spec = q.Spec
		spec.TimeZone = []string{"UTC", "east", "west"}[w.choose("zone", 3)]
	}
	cmd := change(spec, q.Generation)
	if c := cmd.GetUpdateSequence(); spec.GetLateMs() != 0 || q.Spec.GetLateMs() != 0 {
		c.OpenFrom = w.openFrom(s, q.Spec)
		c.Period, _ = livesPeriod(PeriodsOf(q.Spec), w.clock())
	}
	if w.choose("set", 3) == 0 {
		cmd.GetUpdateSequence().Next = new(q.Next + int64(w.choose("next", 60)) - 30)
	}
	cmd.GetUpdateSequence().Force = force
	return cmd
}

// strange reports whether the state does not know a name of which an earlier life granted something. Once the restore is
// acknowledged, operators know the name.
func (w *lives) strange(s *State, name string) bool {
	if s.RememberedGeneration(name) != 0 || s.Restored().GetNamesClosed() {
		return false
	}
	_, some := w.last(Sequence{Spec: plain(name)})
	return some
}

// last returns the last number that was granted of a sequence in its direction: in its period, or in any if it has none.
func (w *lives) last(q Sequence) (n int64, some bool) {
	for g := range w.numbers {
		if g.name != q.Spec.GetName() || q.Spec.GetReset_() != resetNone && g.period != q.Period {
			continue
		}
		if !some || (g.number > n) == (q.Spec.GetIncrement() > 0) {
			n, some = g.number, true
		}
	}
	return n, some
}
