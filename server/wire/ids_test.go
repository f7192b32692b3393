package wire

import (
	"math"
	"slices"
	"testing"

	"github.com/snowraft/snowraft/allocator"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// One range, several ranges and packed IDs arrive as they were sent.
func TestIDsTravel(t *testing.T) {
	for _, taken := range [][]allocator.Range{
		{{First: math.MaxInt64 - 4, Count: 3, Step: 2}},
		{{First: 1, Count: 1, Step: 1}, {First: 1 << 40, Count: 2, Step: 4}},
	} {
		var count uint32
		var want []int64
		for _, r := range taken {
			count += r.Count
			for id := range r.All() {
				want = append(want, int64(id))
			}
		}
		got, err := IDs(nil, IDsResponse(taken, count, false), count)
		if err != nil || !slices.Equal(got, taken) {
			t.Errorf("IDs() = %v, %v, want %v", got, err, taken)
		}
		if packed := IDsResponse(taken, count, true).GetIds(); !slices.Equal(packed, want) {
			t.Errorf("packed IDs of %v = %v, want %v", taken, packed, want)
		}
	}
}

// A gateway rejects answers that no correct member sends.
func TestInvalidIDsOfMembersAreRefused(t *testing.T) {
	for name, r := range map[string]*snowraftv1.IdRange{
		"fewer":           {First: 1, Count: 1, Step: 1},
		"a negative ID":   {First: -1, Count: 2, Step: 1},
		"a negative step": {First: 1, Count: 2, Step: -1},
		"one ID twice":    {First: 5, Count: 2},
		"the ID 0":        {First: 0, Count: 2, Step: 1},
		"64 bits":         {First: math.MaxInt64, Count: 2, Step: 1},
		"more than 64":    {First: 1, Count: 2, Step: math.MaxInt64},
	} {
		if _, err := IDs(nil, &snowraftv1.GenerateIdsResponse{Ranges: []*snowraftv1.IdRange{r}}, 2); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
	empty := &snowraftv1.GenerateIdsResponse{Ranges: []*snowraftv1.IdRange{{First: 1, Count: 2, Step: 1}, {First: 9, Step: 1}}}
	if _, err := IDs(nil, empty, 2); err == nil {
		t.Error("an empty range was accepted")
	}
}
