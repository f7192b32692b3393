package fsm

import (
	"fmt"
	"math/bits"
	"slices"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// The alphabet of late numbers. Numbers of a day are late for half a day, a tick of the clock. A caller states where a day
// ended without its late numbers, whoever got those. The operator knows all numbers.

// everyLateSpecs are the specifications that the sequence changes between.
var everyLateSpecs = []*commandv1.SequenceSpec{
	everySpec(numbers(1, 1, 1, 6), resetting(resetDaily), func(s *commandv1.SequenceSpec) { s.LateMs = everyTick }),
	everySpec(numbers(1, 1, 1, 6), resetting(resetDaily)),
}

// everyLateChanges delete, create and update the sequence.
var everyLateChanges = func() (all []everyAction) {
	for i, spec := range everyLateSpecs {
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
				cmd := change(spec, q.Generation)
				cmd.GetUpdateSequence().Period, cmd.GetUpdateSequence().OpenFrom = n.period(q.Spec), n.open(q.Spec)
				next, _ := n.propose(cmd)
				return next, nil
			}})
	}
	return append(all, everyChanges[0])
}()

// open returns the first open period of a specification.
func (n *everyNode) open(spec *commandv1.SequenceSpec) int32 {
	open, _ := livesPeriod(PeriodsOf(spec), n.millis()-spec.GetLateMs())
	return max(open, everyPeriods[1])
}

// everyLate take a number of a day that ended, whose end the caller states or not, and resume a day after the restore.
var everyLate = func() (all []everyAction) {
	for place := range uint8(2) {
		for _, state := range []bool{false, true} {
			all = append(all, everyAction{fmt.Sprint("late of ", place+1, ", stated: ", state), func(n *everyNode) (*everyNode, error) {
				return n.takeLate(place+1, state)
			}})
		}
		all = append(all, everyAction{fmt.Sprint("resume ", place+1), func(n *everyNode) (*everyNode, error) {
			q, ok := n.fsm.Sequence("s")
			if !ok {
				return nil, nil
			}
			last := int64(bits.Len8(n.given[place+1])) - 1
			next, _ := n.propose(resumePeriod(everyPeriods[place+1], resume("s", q.Generation, new(max(last, 0)), 0)))
			return next, nil
		}})
	}
	return all
}()

func (n *everyNode) takeLate(place uint8, state bool) (*everyNode, error) {
	q, ok := n.fsm.Sequence("s")
	if !ok {
		return nil, nil
	}
	cmd := of(everyPeriods[place], whole(allocate("s", q.Generation, 1, n.period(q.Spec))), n.open(q.Spec))
	if state {
		cmd = stated(int64(max(bits.Len8(n.given[place]&^n.late[place]), 1)), cmd)
	}
	next, r := n.propose(cmd)
	if next == nil {
		return nil, nil
	}
	_, err := next.give(r.Block)
	if now := n.period(q.Spec); now > everyPeriods[place] {
		next.late[place] |= everyMask(r.Block)
		if open := n.open(q.Spec); err == nil && everyPeriods[place] < open {
			err = violated("late", "%+v of a day before %d, which had closed", r.Block, open)
		}
	}
	if err == nil && slices.Index(everyPeriods[:], r.Block.Period) != int(place) {
		err = violated("period", "%+v, want numbers of %d", r.Block, everyPeriods[place])
	}
	return next, err
}
