//go:build process

package processtest

import (
	"testing"
	"time"

	"github.com/snowraft/snowraft/jepsen/attacks"
)

func TestAttackShortVersions(t *testing.T) {
	t.Parallel()
	b := besiege(t, 1)
	made(t, attacks.ShortVersions(t.Context(), b.members[0].gossip))
	b.well(t)
}

func TestAttackMillionNodes(t *testing.T) {
	t.Parallel()
	b := besiege(t, 1)
	made(t, attacks.MillionNodes(t.Context(), b.members[0].gossip, 60))
	b.staysWell(t, 3*time.Second)
}

func TestAttackNestedCompression(t *testing.T) {
	t.Parallel()
	b := besiege(t, 1)
	made(t, attacks.NestedCompression(t.Context(), b.members[0].gossip))
	b.staysWell(t, 3*time.Second)
}

// Nodes that only claim to have the log do not vote, and their clocks do not count.
func TestAttackForgedNodes(t *testing.T) {
	t.Parallel()
	b := besiege(t, 3)
	status := leader(t, b.members).status()
	lies := attacks.Lies{Ahead: time.Hour, Index: status.GetCommitIndex() + 200, Term: status.GetTerm()}
	made(t, attacks.ForgeNodes(t.Context(), b.members[0].gossip, 4, lies))
	for began := time.Now(); time.Since(began) < 15*time.Second && !t.Failed(); pass(t, time.Second) {
		b.well(t)
		if voters, _ := b.members[0].voters(); voters != 3 {
			t.Fatalf("%d voters", voters)
		}
	}
}
