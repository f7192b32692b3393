package client

import (
	"slices"
	"sync/atomic"
)

const (
	// closedChunk is the position of a closed chunk. No position reaches it by additions of 1, nor
	// the greatest uint64 from it.
	closedChunk = 1 << 63
	// smallRange is the least number of IDs of a range that is worth a chunk of its own.
	smallRange = 64
)

// chunk is IDs of one answer: a range, or a list of what came in small ranges.
//
// Position, how often callers tried to take, only grows. Index i is the caller's who moved it from i to i+1, if
// i is below count.
type chunk struct {
	first, step int64
	list        *[]int64 // instead of first and step, if not nil
	count       uint64
	start       uint64 // the index in the buffer of the first one: so many were put into it before
	born        int64  // Mono; when the cluster was asked: the IDs are not older
	next        atomic.Pointer[chunk]
	_           [8]byte

	position atomic.Uint64 // on a cache line of its own
	_        [56]byte
}

// id is the ID at an index below count.
func (c *chunk) id(index uint64) int64 {
	if c.list != nil {
		return (*c.list)[index]
	}
	return c.first + int64(index)*c.step
}

// close ends the chunk and returns how many IDs were not taken: none is afterwards.
func (c *chunk) close() (left uint64) {
	return c.count - min(c.position.Swap(closedChunk), c.count)
}

// used is the index in the buffer of the first ID that was not taken from the chunk.
func (c *chunk) used() uint64 { return c.start + min(c.position.Load(), c.count) }

// chunks makes chunks of an answer.
func chunks(answer []Range, born int64) (all []*chunk) {
	for _, r := range answer {
		if r.Count >= smallRange {
			all = append(all, &chunk{first: r.First, step: r.Step, count: uint64(r.Count), born: born})
			continue
		}
		if n := len(all); n == 0 || all[n-1].list == nil {
			all = append(all, &chunk{list: new([]int64), born: born})
		}
		c := all[len(all)-1]
		*c.list = slices.AppendSeq(*c.list, r.All())
		c.count = uint64(len(*c.list))
	}
	return all
}
