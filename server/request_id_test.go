package server_test

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

func TestRequestIDs(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		nodes := startCluster(t, 3)
		nodes[0].createSequence(&snowraftv1.Sequence{Name: "relaxed", Mode: snowraftv1.SequenceMode_SEQUENCE_MODE_RELAXED, Format: "{date:yyyyMMddHHmmss}-{seq}"})
		nodes[0].createSequence(strict("strict"))
		for _, name := range []string{"relaxed", "strict"} {
			before := nodes[0].next(name, 3)
			req := &snowraftv1.NextNumbersRequest{Sequence: name, Count: 5, RequestId: "r1"}
			first, err := nodes[0].sequences.NextNumbers(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			after := nodes[0].next(name, 1)[0]
			if name == "strict" && (first.GetFirst() <= before[2] || after <= first.GetFirst()+4) {
				t.Errorf("strict: %v, then %v, then %d", before, first, after)
			}
			for _, n := range nodes {
				again, err := n.sequences.NextNumbers(t.Context(), req)
				if err != nil || !proto.Equal(again, first) {
					t.Errorf("repeated: %v, %v; at first: %v", again, err, first)
				}
			}
			if name == "strict" {
				if got := nodes[1].next(name, 1)[0]; got <= after {
					t.Errorf("%d after %d", got, after)
				}
			}
			if _, err := nodes[0].sequences.NextNumbers(t.Context(), &snowraftv1.NextNumbersRequest{Sequence: name, Count: 6, RequestId: "r1"}); reason(err) != rpc.RequestIDReused {
				t.Errorf("another request under the same ID: %v", err)
			}
		}
		block := &snowraftv1.AllocateBlockRequest{Sequence: "relaxed", Count: 2000, RequestId: "b1"}
		one, err := nodes[1].sequences.AllocateBlock(t.Context(), block)
		if err != nil {
			t.Fatal(err)
		}
		two, err := nodes[2].sequences.AllocateBlock(t.Context(), block)
		if err != nil || one.GetBlock().GetFirst() != two.GetBlock().GetFirst() || one.GetBlock().GetCount() != 2000 {
			t.Errorf("%v and %v, %v", one, two, err)
		}
	})
}
