package check

import (
	"cmp"
	"fmt"
	"math/bits"

	"github.com/snowraft/snowraft/jepsen/history"
)

// sign converts an int64 to a uint64, and back, by exclusive or. The order stays the same.
const sign = 1 << 63

// hands reports whether an operation returned new numbers of a sequence.
func hands(op history.Op) bool {
	return op.Outcome == history.OK && (op.Do == history.DoNext || op.Do == history.DoIncr || op.Do == history.DoBlock)
}

// numbersOf returns the numbers that an operation received, ascending in the order of uint64, even if the sequence
// counts down. It returns an error if they exceed 64 bits.
func numbersOf(op history.Op) (history.Issued, error) {
	increment := cmp.Or(op.Increment, 1)
	i := history.Issued{
		First: uint64(op.First) ^ sign, Step: uint64(increment), Op: op.ID, Call: op.Call, Return: op.Return, //nolint:gosec // G115: keeps the bits
		Count: max(op.Count, 1), Start: op.Start, Session: op.Session, Client: op.Client,
	}
	room := ^i.First
	if increment < 0 {
		i.Step, room = -i.Step, i.First
	}
	over, reach := bits.Mul64(uint64(i.Count-1), i.Step)
	if over != 0 || reach > room {
		return i, fmt.Errorf("operation %d of client %d received %d numbers of sequence %q from %d in steps of %d, beyond 64 bits",
			op.ID, op.Client, i.Count, op.Key, op.First, increment)
	}
	if increment < 0 {
		i.First -= reach
	}
	return i, nil
}

// numberGroup is the set of numbers of a sequence with the same remainder modulo its step. The numbers of one call are
// neighbors in it.
type numberGroup struct {
	key        string
	step, rest uint64
}

// uniqueNumbers checks the numbers of all sequences. Numbers of a request that was repeated under its ID count once. A
// number may be issued twice if may returns true for the two holders.
func (r *Run) uniqueNumbers(v *Verdict, budget int, may func(g numberGroup, o repeat) bool) error {
	steps, err := r.steps()
	if err != nil {
		return err
	}
	groups := make(map[numberGroup]uint64)
	var names []numberGroup
	add := func(s *sorter, key string, i history.Issued) error {
		g := numberGroup{key: key, step: steps[key], rest: i.First % steps[key]}
		index, ok := groups[g]
		if !ok {
			index = uint64(len(names))
			groups[g], names = index, append(names, g)
		}
		return s.add(entry{hi: index, lo: i.First / g.step, Issued: i})
	}
	requests := make(map[[2]string]history.Op)
	return sorting(r.Dir, budget, func(s *sorter) error {
		for op, err := range r.Ops() {
			if err != nil {
				return err
			}
			if !hands(op) || r.repeated(v, requests, op) {
				continue
			}
			i, err := numbersOf(op)
			if err != nil {
				v.fail("%v", err)
				continue
			}
			v.Facts["numbers"] += int64(i.Count)
			if i.Count == 1 || i.Step == steps[op.Key] {
				if err := add(s, op.Key, i); err != nil {
					return err
				}
				continue
			}
			for k := range i.Count {
				one := i
				one.First, one.Count = i.First+uint64(k)*i.Step, 1
				if err := add(s, op.Key, one); err != nil {
					return err
				}
			}
		}
		return r.findDuplicates(v, s, func(e entry) string {
			g := names[e.hi]
			return fmt.Sprintf("number %d of sequence %q", int64((e.lo*g.step+g.rest)^sign), g.key) //nolint:gosec // G115: keeps the bits
		}, func(o repeat) bool { return may(names[o.group], o) })
	})
}

// steps returns the distance between the numbers of each sequence, or 1 if the distance changed.
func (r *Run) steps() (map[string]uint64, error) {
	steps := make(map[string]uint64)
	settled := make(map[string]bool) // distance known from a call for several numbers
	for op, err := range r.Ops() {
		if err != nil {
			return nil, err
		}
		if !hands(op) {
			continue
		}
		i, err := numbersOf(op)
		switch {
		case err != nil: // uniqueNumbers reports it
		case steps[op.Key] == 0, i.Count > 1 && !settled[op.Key]:
			steps[op.Key], settled[op.Key] = i.Step, i.Count > 1
		case i.Count > 1 && i.Step != steps[op.Key]:
			steps[op.Key] = 1
		}
	}
	return steps, nil
}

// repeated reports whether an earlier request with the same ID received the same numbers. It adds a failure if that
// request received other numbers, unless the cluster may have forgotten it. A cluster forgets requests after ten minutes
// of its own clock, which differs from the harness's during faults of clocks. A restored cluster forgets requests
// after the backup.
func (r *Run) repeated(v *Verdict, requests map[[2]string]history.Op, op history.Op) bool {
	if op.RequestID == "" {
		return false
	}
	name := [2]string{op.Key, op.RequestID}
	first, ok := requests[name]
	if !ok {
		requests[name] = op
		return false
	}
	v.Facts["repeated_requests"]++
	if op.First == first.First && op.Count == first.Count && op.Increment == first.Increment {
		return true
	}
	const remembered = 9 * 60 * 1e9
	from, to := min(first.Call, op.Call), max(first.Return, op.Return)
	if to-from < remembered && !r.faulty(familyClock, from, to) && !r.restored(from, to) {
		v.fail("request %q of sequence %q received other numbers when repeated: %d from %d in operation %d, "+
			"then %d from %d in operation %d",
			op.RequestID, op.Key, first.Count, first.First, first.ID, op.Count, op.First, op.ID)
	}
	requests[name] = op
	return false
}

// faulty reports whether a fault of the family was in effect at any moment between two.
func (r *Run) faulty(family string, from, to int64) bool {
	for _, f := range r.Faults {
		if f.Family == family && f.From <= to && f.To >= from {
			return true
		}
	}
	return false
}
