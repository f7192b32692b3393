package wire

import (
	"fmt"

	"github.com/snowraft/snowraft/allocator"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// IDsResponse returns count IDs as they travel: their ranges, or packed.
func IDsResponse(taken []allocator.Range, count uint32, packed bool) *snowraftv1.GenerateIdsResponse {
	if packed {
		ids := make([]uint64, 0, count)
		for _, r := range taken {
			for id := range r.All() {
				ids = append(ids, id)
			}
		}
		return &snowraftv1.GenerateIdsResponse{Ids: ids}
	}
	if len(taken) == 1 {
		// Most answers are one range. They are allocated in one piece, which makes up for
		// what the interceptor allocates.
		one := &struct {
			resp   snowraftv1.GenerateIdsResponse
			ranges [1]*snowraftv1.IdRange
			only   snowraftv1.IdRange
		}{}
		one.only.First, one.only.Count, one.only.Step = taken[0].First, taken[0].Count, taken[0].Step
		one.ranges[0] = &one.only
		one.resp.Ranges = one.ranges[:]
		return &one.resp
	}
	resp := &snowraftv1.GenerateIdsResponse{}
	all := make([]snowraftv1.IdRange, len(taken))
	resp.Ranges = make([]*snowraftv1.IdRange, len(taken))
	for n, r := range taken {
		all[n].First, all[n].Count, all[n].Step = r.First, r.Count, r.Step
		resp.Ranges[n] = &all[n]
	}
	return resp
}

// IDs appends what a member answered to a request for count IDs. More of them would be more than a
// program can take in that reads them as text.
func IDs(ids []allocator.Range, resp *snowraftv1.GenerateIdsResponse, count uint32) ([]allocator.Range, error) {
	var sum uint64
	for _, r := range resp.GetRanges() {
		ids = append(ids, allocator.Range{First: r.GetFirst(), Count: r.GetCount(), Step: r.GetStep()})
		sum += uint64(r.GetCount())
	}
	if sum != uint64(count) {
		return ids, fmt.Errorf("the member answered with %d IDs instead of %d", sum, count)
	}
	return ids, nil
}
