//go:build mutants

package allocator_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/snowraft/snowraft/internal/mutant"
)

// Each planted bug is found by the model in a hundred worlds that could show it, and
// nothing is found in any without one.
func TestPlantedSequenceBugsAreCaught(t *testing.T) {
	for _, bug := range []mutant.Bug{"", mutant.KeepOutdatedBlock, mutant.ReturnBeforeClose, mutant.JoinAcrossGap, mutant.TrustAnyBlock} {
		t.Run("bug="+string(bug), func(t *testing.T) {
			undo := mutant.Plant(bug)
			defer undo()
			for seed := range uint64(100) {
				r := rand.New(rand.NewPCG(seed, 0))
				w := world{
					seed: seed, increment: 1, min: 50,
					delay: time.Duration(r.Int64N(int64(5 * time.Millisecond))),
					fails: 5, lost: 5, others: 30, changes: 10, hostile: 20,
				}
				got := walk(t, w)
				if got != "" {
					t.Logf("seed %d: %s", seed, got)
					if bug == "" {
						t.Fatal("found something, and there is nothing")
					}
					return
				}
			}
			if bug != "" {
				t.Fatal("not found")
			}
		})
	}
}
