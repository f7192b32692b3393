package report

import (
	"cmp"
	"maps"
	"slices"

	"github.com/snowraft/snowraft/jepsen/history"
)

// mostKinds is the maximum of separate kinds, whatever the history holds; further kinds are counted together.
const mostKinds = 500

// kind identifies operations that are counted together.
type kind struct {
	Workload string
	Outcome  history.Outcome
	Reason   string
}

// count is a number of operations of a kind.
type count struct {
	kind
	Operations uint64
	// Share is the share of the workload's operations, in percent.
	Share float64
}

// tally counts operations.
type tally struct {
	kinds map[kind]uint64
	all   uint64
	// ids and numbers count the IDs and numbers that clients received in recorded operations.
	ids, numbers uint64
}

func newTally() *tally { return &tally{kinds: make(map[kind]uint64)} }

func (t *tally) add(op history.Op) {
	t.all++
	k := kind{op.Workload, op.Outcome, op.Reason}
	if _, known := t.kinds[k]; !known && len(t.kinds) >= mostKinds {
		k = kind{elsewhere, op.Outcome, elsewhere}
	}
	t.kinds[k]++
	if op.Outcome != history.OK {
		return
	}
	switch op.Do {
	case history.DoIDs:
		t.ids += uint64(op.Count)
	case history.DoNext, history.DoIncr:
		t.numbers += max(uint64(op.Count), 1)
	}
}

// of returns the number of operations with an outcome.
func (t *tally) of(o history.Outcome) uint64 {
	n := uint64(0)
	for k, operations := range t.kinds {
		if k.Outcome == o {
			n += operations
		}
	}
	return n
}

// counts returns the counts of all kinds, ordered by workload, then outcome (done, not done, unknown), then falling count.
func (t *tally) counts() []count {
	whole := make(map[string]uint64)
	for k, n := range t.kinds {
		whole[k.Workload] += n
	}
	var all []count
	for k, n := range t.kinds {
		all = append(all, count{k, n, 100 * float64(n) / float64(whole[k.Workload])})
	}
	rank := map[history.Outcome]int{history.OK: 0, history.Fail: 1, history.Info: 2}
	slices.SortFunc(all, func(a, b count) int {
		return cmp.Or(
			cmp.Compare(a.Workload, b.Workload), cmp.Compare(rank[a.Outcome], rank[b.Outcome]),
			cmp.Compare(b.Operations, a.Operations), cmp.Compare(a.Reason, b.Reason))
	})
	return all
}

// named is a count with a name.
type named struct {
	Name  string
	Count int
}

// most returns counts as a list, the greatest first; equal counts are ordered by name.
func most(counts map[string]int) []named {
	var all []named
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		all = append(all, named{name, counts[name]})
	}
	slices.SortStableFunc(all, func(a, b named) int { return cmp.Compare(b.Count, a.Count) })
	return all
}
