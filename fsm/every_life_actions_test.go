package fsm

import (
	"fmt"
	"math/bits"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// The alphabets of every life, and the audit of each action.

var everyClock = []everyAction{
	{"tick", func(n *everyNode) (*everyNode, error) {
		if n.tick == everyTicks-1 {
			return nil, nil
		}
		next := *n
		next.tick++
		return &next, nil
	}},
}

// everyChanges delete, create and update the sequence.
var everyChanges = func() (all []everyAction) {
	all = append(all, everyAction{"delete", func(n *everyNode) (*everyNode, error) {
		next, _ := n.propose(remove("s"))
		return next, nil
	}})
	for i, spec := range everySpecs {
		all = append(all,
			everyAction{fmt.Sprint("create ", i), func(n *everyNode) (*everyNode, error) {
				if n.strange() {
					return nil, nil
				}
				next, _ := n.propose(create(spec, n.period(spec)))
				return next, nil
			}},
			everyAction{fmt.Sprint("update ", i), func(n *everyNode) (*everyNode, error) {
				q, ok := n.fsm.Sequence("s")
				if !ok || *compact(q.Spec) == *compact(spec) {
					return nil, nil
				}
				next, _ := n.propose(change(spec, q.Generation))
				return next, nil
			}})
	}
	return all
}()

// strange reports whether the state does not know the sequence, of which an earlier life granted numbers. Once the restore is
// acknowledged, operators know the name.
func (n *everyNode) strange() bool {
	return n.life > 1 && n.fsm.RememberedGeneration("s") == 0 && !n.fsm.Restored().GetNamesClosed() && n.given.all() != 0
}

// period returns the period of a specification at the clock of a member.
func (n *everyNode) period(spec *commandv1.SequenceSpec) int32 {
	period, _ := livesPeriod(PeriodsOf(spec), n.millis())
	return period
}

// everyBlocks take and return blocks of two numbers, and crash members.
var everyBlocks = func() (all []everyAction) {
	for m := range 2 {
		all = append(all,
			everyAction{fmt.Sprint("take by ", m), func(n *everyNode) (*everyNode, error) { return n.take(m) }},
			everyAction{fmt.Sprint("return by ", m), func(n *everyNode) (*everyNode, error) { return n.giveBack(m) }},
			everyCrash(m))
	}
	return all
}()

func everyCrash(m int) everyAction {
	return everyAction{fmt.Sprint("crash of ", m), func(n *everyNode) (*everyNode, error) {
		next := *n
		next.blocks[m], next.lanes[m] = everyBlock{}, everyLane{}
		return &next, nil
	}}
}

func (n *everyNode) take(m int) (*everyNode, error) {
	q, ok := n.fsm.Sequence("s")
	if !ok {
		return nil, nil
	}
	next, r := n.propose(withKey(allocate("s", q.Generation, 2, n.period(q.Spec)), nonceHash(byte(m))))
	if next == nil {
		return nil, nil
	}
	period, err := next.give(r.Block)
	next.blocks[m] = everyBlock{}
	if r.Block.Count == 2 {
		next.blocks[m] = everyBlock{n.life, r.Block.Token, period, r.Block.First}
	}
	return next, err
}

// give notes the numbers of a block, which must not have been granted in its period, or, without a period, in any.
func (n *everyNode) give(b BlockGrant) (period uint8, err error) {
	period, mask := everyPeriod(b.Period), everyMask(b)
	n.since = true
	if n.given[period]&mask != 0 || period == 0 && n.given.all()&mask != 0 {
		return period, violated("number", "%+v was granted before: %b", b, n.given)
	}
	n.given[period] |= mask
	return period, nil
}

func everyPeriod(period int32) (place uint8) {
	for everyPeriods[place] != period {
		place++
	}
	return place
}

func everyMask(b BlockGrant) (mask uint8) {
	for i := range b.Count {
		mask |= 1 << numberAt(b.First, i, b.Increment)
	}
	return mask
}

func (n *everyNode) giveBack(m int) (*everyNode, error) {
	b := n.blocks[m]
	if b.token == 0 {
		return nil, nil
	}
	next, _ := n.propose(withKey(giveBack("s", b.token, 1), nonceHash(byte(m))))
	if next == nil {
		return nil, nil
	}
	next.given[b.period] &^= 1 << (b.first + 1)
	next.blocks[m] = everyBlock{}
	if b.life != n.life {
		return next, violated("claim", "life %d took back %+v", n.life, b)
	}
	return next, nil
}

// everyRequests request a number with one request ID, with either token, and by a way on which the caller was lost.
var everyRequests = func() (all []everyAction) {
	for caller := range 2 {
		for _, lost := range []bool{false, true} {
			name := fmt.Sprint("request of ", caller)
			if lost {
				name += " without a caller"
			}
			all = append(all, everyAction{name, func(n *everyNode) (*everyNode, error) { return n.ask(caller, lost) }})
		}
	}
	return all
}()

func (n *everyNode) ask(caller int, lost bool) (*everyNode, error) {
	q, ok := n.fsm.Sequence("s")
	if !ok {
		return nil, nil
	}
	cmd := by(everyTokens[caller], n.fsm.index, withID(allocate("s", q.Generation, 1, n.period(q.Spec)), "r"))
	if lost {
		cmd.Actor = nil
	}
	next, r := n.propose(cmd)
	if next == nil {
		return nil, nil
	}
	period, mask := everyPeriod(r.Block.Period), everyMask(r.Block)
	if r.Block.Repeated && next.asked[caller][period]&mask != 0 {
		return next, nil
	}
	_, err := next.give(r.Block)
	next.asked[caller][period] |= mask
	return next, err
}

// everyWindows acquire, extend and release workers.
var everyWindows = func() (all []everyAction) {
	for m := range 2 {
		all = append(all,
			everyAction{fmt.Sprint("acquire by ", m), func(n *everyNode) (*everyNode, error) { return n.acquire(m) }},
			everyAction{fmt.Sprint("extend by ", m), func(n *everyNode) (*everyNode, error) { return n.extend(m) }},
			everyAction{fmt.Sprint("release by ", m), func(n *everyNode) (*everyNode, error) { return n.release(m) }},
			everyCrash(m))
	}
	return all
}()

func everyHolder(m int) string { return string(rune('a'+m)) + "/0" }

func (n *everyNode) acquire(m int) (*everyNode, error) {
	cmd := acquire(everyHolder(m), everyTick)
	cmd.GetAcquireWorker().Layout = "small"
	next, r := n.propose(cmd)
	if next == nil {
		return nil, nil
	}
	next.lanes[m] = everyLane{n.life, r.Grant.Token, r.Grant.Worker, r.Grant.From, r.Grant.Until}
	return next, next.cover(next.lanes[m], r.Grant.From)
}

func (n *everyNode) extend(m int) (*everyNode, error) {
	lane := n.lanes[m]
	if lane.token == 0 {
		return nil, nil
	}
	cmd := extend(Grant{Worker: lane.worker, Token: lane.token}, nonceHash(everyHolder(m)[0]), lane.until, everyTick)
	cmd.GetExtendWindow().Layout = "small"
	next, r := n.propose(cmd)
	if next == nil || r.Grant.Until == lane.until {
		return nil, nil
	}
	next.lanes[m].until = r.Grant.Until
	return next, next.cover(next.lanes[m], lane.until)
}

// release releases the window from the present hour on.
func (n *everyNode) release(m int) (*everyNode, error) {
	lane := n.lanes[m]
	if lane.token == 0 {
		return nil, nil
	}
	first := min(max(lane.from, n.tick*everyTick/livesHour), lane.until)
	cmd := release(Grant{Worker: lane.worker, Token: lane.token, Until: lane.until}, nonceHash(everyHolder(m)[0]), first)
	cmd.GetReleaseWorker().Layout = "small"
	next, _ := n.propose(cmd)
	if next == nil {
		return nil, nil
	}
	next.lanes[m] = everyLane{}
	if lane.life != n.life {
		return next, violated("claim", "life %d released %+v", n.life, lane)
	}
	for tick := first; tick < lane.until; tick++ {
		next.ticks[lane.worker][tick/64] &^= 1 << (tick % 64)
	}
	return next, nil
}

// cover notes the ticks of a window from one on, which must not have been granted.
func (n *everyNode) cover(lane everyLane, from int64) error {
	if lane.life != n.life {
		return violated("claim", "life %d extended %+v", n.life, lane)
	}
	granted := &n.ticks[lane.worker]
	for tick := from; tick < lane.until; tick++ {
		if granted[tick/64]&(1<<(tick%64)) != 0 {
			return violated("cell", "tick %d of %+v was granted before", tick, lane)
		}
		granted[tick/64] |= 1 << (tick % 64)
	}
	return nil
}

// everySnapshot restarts a member from its snapshot.
var everySnapshot = []everyAction{{"snapshot", func(n *everyNode) (*everyNode, error) {
	next := *n
	var err error
	next.fsm, err = n.snapshot()
	return &next, err
}}}

// everyRestores back the cluster up, restore it once, and make the operator's statements.
var everyRestores = []everyAction{
	{"backup", func(n *everyNode) (*everyNode, error) {
		if n.life > 1 || n.backup != nil {
			return nil, nil
		}
		next := *n
		var err error
		next.backup, err = n.snapshot()
		next.since = false
		return &next, err
	}},
	{"restore", func(n *everyNode) (*everyNode, error) {
		if n.backup == nil || n.life > 1 {
			return nil, nil
		}
		next := *n
		next.life, next.fsm, next.backup = n.life+1, cloneState(n.backup), nil
		err := next.fsm.Restore(Restoration{
			Index: next.fsm.FirstIndex(n.fsm.index, n.millis(), n.millis()), NowMillis: n.millis(), OldCluster: "old", OldEndedMillis: n.millis(),
			Period: livesPeriod, KeepTokens: true,
		})
		return &next, err
	}},
	{"acknowledge", func(n *everyNode) (*everyNode, error) {
		if !n.fsm.Restored().GetNamesClosed() {
			return nil, nil
		}
		next, _ := n.propose(acknowledge(n.fsm.Restored().GetIndex()))
		return next, nil
	}},
	{"resume", func(n *everyNode) (*everyNode, error) {
		page := n.fsm.Frozen("", 1)
		if len(page) == 0 {
			return nil, nil
		}
		q := page[0]
		mask := n.given.all()
		if q.Spec.GetReset_() != resetNone {
			mask = n.given[everyPeriod(q.Period)]
		}
		cmd := resume("s", q.Generation, nil, 0)
		if mask != 0 && n.since || q.Moved {
			cmd.GetResumeSequence().After = new(int64(bits.Len8(mask)) - 1)
		}
		next, _ := n.propose(cmd)
		if next != nil {
			next.away = false
		}
		return next, nil
	}},
}
