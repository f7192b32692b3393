package server_test

import (
	"testing"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// A repeated request with a request ID gets the same numbers from every member.
func TestRepeatedNextIsAnsweredAlikeByAllMembers(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		nodes := startCluster(t, 3)
		nodes[0].createSequence(strict("s"))
		req := &snowraftv1.NextNumbersRequest{Sequence: "s", Count: 5, RequestId: "a request"}
		firsts := make(map[int64]bool)
		for range 2 {
			for _, n := range nodes {
				resp, err := n.sequences.NextNumbers(t.Context(), req)
				if err != nil {
					t.Fatal(err)
				}
				firsts[resp.GetFirst()] = true
			}
		}
		if len(firsts) > 1 {
			t.Errorf("answers from %v", firsts)
		}
	})
}
