package client

import (
	"slices"
	"sync/atomic"
)

const (
	// closedChunk is the position of a closed chunk. Additions of 1 reach neither closedChunk from 0, nor
	// the greatest uint64 from closedChunk.
	closedChunk = 1 << 63
	// smallRange is the least number of IDs in a range that gets a chunk of its own.
	smallRange = 64
)

// chunk holds IDs of one answer: a range, or a list of the IDs of small ranges.
//
// The position is the number of attempts to take an ID; it only increases. If i is less than count, the ID at index i
// belongs to the caller that moved the position from i to i+1.
type chunk struct {
	first, step int64
	list        *[]int64 // instead of first and step, if not nil
	count       uint64
	start       uint64 // index of the first ID in the buffer: the number of IDs put into the buffer before
	born        int64  // Mono at the time of the request: the IDs are not older
	next        atomic.Pointer[chunk]
	_           [8]byte

	position atomic.Uint64 // on a cache line of its own
	_        [56]byte
}

// id returns the ID at an index less than count.
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

// used returns the index in the buffer of the first ID that was not taken from the chunk.
func (c *chunk) used() uint64 { return c.start + min(c.position.Load(), c.count) }

// chunks returns an answer as chunks.
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
