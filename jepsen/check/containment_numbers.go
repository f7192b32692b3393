package check

import (
	"cmp"
	"slices"

	"github.com/snowraft/snowraft/jepsen/history"
	"github.com/snowraft/snowraft/jepsen/raftlog"
)

// blockClass is the set of numbers whose ordinals have the same residue modulo a step.
type blockClass struct{ step, residue uint64 }

// blockSets holds, by name of the sequence, the numbers that the log granted and that were not returned. The intervals
// of a class are ascending, disjoint and maximal.
type blockSets map[string]map[blockClass][]interval

// ordinal maps int64 to uint64 in the same order, so that residues continue across 0.
func ordinal(n int64) uint64 { return uint64(n) ^ 1<<63 } //nolint:gosec // G115: wraps as intended

func stepOf(increment int64) uint64 {
	if increment < 0 {
		return -uint64(increment) //nolint:gosec // G115: wraps as intended
	}
	return uint64(increment)
}

func classOf(n, increment int64) blockClass {
	step := stepOf(increment)
	return blockClass{step, ordinal(n) % step}
}

// blocksOf returns the numbers granted under each name, over all incarnations and periods.
func blocksOf(grants *raftlog.Grants) blockSets {
	sets := blockSets{}
	for name, blocks := range grants.Blocks {
		sets[name] = map[blockClass][]interval{}
		for i := range blocks {
			b := &blocks[i]
			if numbers, ok := span(b.First, b.Count-b.Returned, b.Increment); ok && !b.Repeated {
				class := classOf(b.First, b.Increment)
				sets[name][class] = append(sets[name][class], numbers)
			}
		}
		for class, all := range sets[name] {
			sets[name][class] = joined(all, class.step)
		}
	}
	return sets
}

// joined sorts intervals of one class and merges those that overlap or touch. It reuses the memory of all.
func joined(all []interval, step uint64) []interval {
	slices.SortFunc(all, func(a, b interval) int { return cmp.Compare(a.low, b.low) })
	kept := all[:1]
	for _, next := range all[1:] {
		if last := &kept[len(kept)-1]; next.low <= last.high || ordinal(next.low)-ordinal(last.high) == step {
			last.high = max(last.high, next.high)
		} else {
			kept = append(kept, next)
		}
	}
	return kept
}

// granted reports whether the log granted all numbers of an interval in a class.
func (s blockSets) granted(name string, numbers interval, class blockClass) bool {
	all := s[name][class]
	at, _ := slices.BinarySearchFunc(all, numbers.low, func(i interval, low int64) int {
		if i.high < low {
			return -1
		}
		return 1
	})
	return at < len(all) && all[at].low <= numbers.low && numbers.high <= all[at].high
}

// one reports whether the log granted a number, in a block of any step.
func (s blockSets) one(name string, n int64) bool {
	for class := range s[name] {
		if ordinal(n)%class.step == class.residue && s.granted(name, interval{n, n}, class) {
			return true
		}
	}
	return false
}

// numbers checks that the numbers that clients received are in blocks that the log granted. Uniqueness and Order check
// for duplicates.
func (c *containment) numbers(grants *raftlog.Grants) error {
	sets := blocksOf(grants)
	for op, err := range c.of.Ops() {
		if err != nil {
			return err
		}
		if op.Outcome == history.OK && (op.Do == history.DoNext || op.Do == history.DoIncr || op.Do == history.DoText) {
			c.numbered(sets, &op)
		}
	}
	return nil
}

// numbered checks the numbers of one operation.
func (c *containment) numbered(sets blockSets, op *history.Op) {
	count := uint64(max(op.Count, 1))
	c.v.Facts[factNumbers] += int64(count) //nolint:gosec // G115: at most 2^32
	ok := false
	if count == 1 {
		ok = sets.one(op.Key, op.First)
	} else if numbers, some := span(op.First, count, op.Increment); some {
		ok = sets.granted(op.Key, numbers, classOf(op.First, op.Increment))
	}
	if !ok {
		c.v.fail("operation %d (client %d, answered by %s, start %d) received %d numbers of sequence %q from %d in steps of %d, "+
			"but the log did not grant all of them", op.ID, op.Client, op.Member, op.Start, count, op.Key, op.First, op.Increment)
	}
}
