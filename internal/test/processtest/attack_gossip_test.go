//go:build process

package processtest

import (
	"slices"
	"testing"
	"time"

	"github.com/snowraft/snowraft/jepsen/attacks"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// Nodes that never replicated do not vote, and their clocks do not count.
func TestAttackForgedNodes(t *testing.T) {
	t.Parallel()
	b := besiege(t, 3)
	made(t, attacks.ForgeNodes(t.Context(), b.members[0].gossip, 4, -time.Hour))
	shown := false
	for began := time.Now(); time.Since(began) < 15*time.Second && !t.Failed(); pass(t, time.Second) {
		b.well(t)
		if voters, _ := b.members[0].voters(); voters != 3 {
			t.Fatalf("%d voters, want 3", voters)
		}
		b.clocksAgree(t)
		shown = shown || slices.ContainsFunc(b.members[0].list(), func(m *snowraftv1.Member) bool {
			return m.GetClockOffsetMs() < -time.Minute.Milliseconds()
		})
	}
	if !shown {
		t.Error("no member reports the clock of a forged node")
	}
}
