package check

import "container/heap"

// ascending looks at entries that are sorted by group and by the beginning of their calls, and
// calls wrong for each whose first number is not above all numbers of the same group that were
// answered before its call began; before is the highest of them.
//
// Only the highest number that was answered counts for that, so that it takes O(n log n) for
// all pairs, and memory for the calls that are in progress at one time.
func ascending(s *sorter, wrong func(before, e entry)) error {
	var (
		highest entry // of what was answered
		found   bool  // there is such a one
		pending byReturn
		group   uint64
	)
	for e, err := range s.sorted() {
		if err != nil {
			return err
		}
		if e.hi != group {
			group, found, pending = e.hi, false, pending[:0]
		}
		for len(pending) > 0 && pending[0].Return < e.Call {
			if done := heap.Pop(&pending).(entry); !found || done.Last() > highest.Last() {
				highest, found = done, true
			}
		}
		if found && e.First <= highest.Last() {
			wrong(highest, e)
		}
		heap.Push(&pending, e)
	}
	return nil
}

// byReturn is a heap of calls, with the one first that was answered first.
type byReturn []entry

func (b *byReturn) Len() int           { return len(*b) }
func (b *byReturn) Less(i, j int) bool { return (*b)[i].Return < (*b)[j].Return }
func (b *byReturn) Swap(i, j int)      { (*b)[i], (*b)[j] = (*b)[j], (*b)[i] }
func (b *byReturn) Push(e any)         { *b = append(*b, e.(entry)) }
func (b *byReturn) Pop() any {
	last := (*b)[len(*b)-1]
	*b = (*b)[:len(*b)-1]
	return last
}
