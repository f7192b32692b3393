package allocator

import "iter"

// Range is Count IDs on one worker within one tick: First, First + Step, and so on.
type Range struct {
	First uint64
	Count uint32 // at least 1
	Step  uint64 // difference between adjacent IDs; 0 if the layout has no sequence field
}

// All yields the IDs of the range, in ascending order.
func (r Range) All() iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		for i := range r.Count {
			if !yield(r.First + uint64(i)*r.Step) {
				return
			}
		}
	}
}
