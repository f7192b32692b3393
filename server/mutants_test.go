//go:build mutants

package server_test

import (
	"testing"

	"github.com/snowraft/snowraft/internal/mutant"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// A request with an ID gets the same numbers from whichever member it is repeated at.
func TestPlantedBugsOfForwardingAreCaught(t *testing.T) {
	nodes := startCluster(t, 3)
	nodes[0].createSequence(strict("s"))
	for _, bug := range []mutant.Bug{"", mutant.ForwardWithoutID} {
		t.Run("bug="+string(bug), func(t *testing.T) {
			defer mutant.Plant(bug)()
			req := &snowraftv1.NextRequest{Sequence: "s", Count: 5, RequestId: "of bug " + string(bug)}
			firsts := make(map[int64]bool)
			for range 2 {
				for _, n := range nodes {
					resp, err := n.sequences.Next(t.Context(), req)
					if err != nil {
						t.Fatal(err)
					}
					firsts[resp.GetFirst()] = true
				}
			}
			if (len(firsts) > 1) != (bug != "") {
				t.Errorf("answers from %v", firsts)
			}
			t.Logf("answers from %v", firsts)
		})
	}
}
