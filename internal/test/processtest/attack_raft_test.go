//go:build process

package processtest

import (
	"testing"
	"time"

	"github.com/snowraft/snowraft/jepsen/attacks"
)

func TestAttackRaft(t *testing.T) {
	t.Parallel()
	b := besiege(t, 3)
	for i, m := range b.members {
		made(t, attacks.Raft(t.Context(), m.raft, b.known[i]))
	}
	b.staysWell(t, 5*time.Second)
	if term := leader(t, b.members).status().GetTerm(); term > 1<<50 {
		t.Errorf("term = %d after the attack, want at most %d", term, uint64(1<<50))
	}
}
