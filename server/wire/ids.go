package wire

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/snowraft/snowraft/allocator"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// fill writes a range into its message. An ID has at most 63 bits.
func fill(m *snowraftv1.IdRange, r allocator.Range) {
	m.First, m.Count, m.Step = int64(r.First), r.Count, int64(r.Step) //nolint:gosec // at most 63 bits
}

// IDsResponse returns count IDs as a message: each ID if packed is true, otherwise their ranges.
func IDsResponse(taken []allocator.Range, count uint32, packed bool) *snowraftv1.GenerateIdsResponse {
	if packed {
		ids := make([]int64, 0, count)
		for _, r := range taken {
			for id := range r.All() {
				ids = append(ids, int64(id)) //nolint:gosec // at most 63 bits
			}
		}
		return &snowraftv1.GenerateIdsResponse{Ids: ids}
	}
	if len(taken) == 1 {
		// Most answers are one range. One allocation for all parts makes up for the allocations of the interceptor.
		one := &struct {
			resp   snowraftv1.GenerateIdsResponse
			ranges [1]*snowraftv1.IdRange
			only   snowraftv1.IdRange
		}{}
		fill(&one.only, taken[0])
		one.ranges[0] = &one.only
		one.resp.Ranges = one.ranges[:]
		return &one.resp
	}
	resp := &snowraftv1.GenerateIdsResponse{}
	all := make([]snowraftv1.IdRange, len(taken))
	resp.Ranges = make([]*snowraftv1.IdRange, len(taken))
	for n, r := range taken {
		fill(&all[n], r)
		resp.Ranges[n] = &all[n]
	}
	return resp
}

// IDs appends the IDs of a member's answer to a request for count IDs. Another number of IDs is an error: a program that reads
// the IDs as text may not be able to take more than count.
func IDs(ids []allocator.Range, resp *snowraftv1.GenerateIdsResponse, count uint32) ([]allocator.Range, error) {
	var sum uint64
	for _, r := range resp.GetRanges() {
		if !valid(r) {
			return ids, fmt.Errorf("the member answered with %d IDs from %d with a step of %d", r.GetCount(), r.GetFirst(), r.GetStep())
		}
		ids = append(ids, allocator.Range{First: uint64(r.GetFirst()), Count: r.GetCount(), Step: uint64(r.GetStep())}) //nolint:gosec // checked above
		sum += uint64(r.GetCount())
	}
	if sum != uint64(count) {
		return ids, fmt.Errorf("the member answered with %d IDs instead of %d", sum, count)
	}
	return ids, nil
}

// valid reports whether a range has at least one ID, and each ID is unique and from 1 to 2^63-1.
func valid(r *snowraftv1.IdRange) bool {
	if r.GetCount() < 1 || r.GetFirst() < 1 || r.GetStep() < 1 {
		return false
	}
	high, span := bits.Mul64(uint64(r.GetCount()-1), uint64(r.GetStep())) //nolint:gosec // checked above
	return high == 0 && span <= uint64(math.MaxInt64-r.GetFirst())        //nolint:gosec // checked above
}

// Bits returns the bits of a requested ID. A negative ID is an error that names the field.
func Bits(field string, id int64) (uint64, error) {
	if id < 0 {
		return 0, Invalid(fmt.Sprintf("%s %d: expected an ID, which is never negative", field, id))
	}
	return uint64(id), nil
}
