package check

import "container/heap"

// ascending checks the entries of s, which are sorted by group and by the time of their calls. It calls wrong for each
// entry e whose first number is not greater than all numbers of the group that were answered before e's call began.
// before is the entry with the highest of them.
//
// ascending compares each entry only with the highest number answered before. It takes O(n log n) time, and memory for
// the calls in progress at one time.
func ascending(s *sorter, wrong func(before, e entry)) error {
	var (
		highest entry // answered entry with the highest number
		found   bool  // highest is set
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

// byReturn is a heap of calls. Its first call is the one with the earliest answer.
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
