//go:build process

package processtest

import (
	"context"
	"testing"
	"time"

	"github.com/snowraft/snowraft/jepsen/attacks"
)

// A stranger that gossips in the name of a member changes neither its address nor the clock that other members attribute to it.
func TestAttackImpersonation(t *testing.T) {
	t.Parallel()
	b := besiege(t, 3)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	made(t, attacks.Impersonate(ctx, b.members[0].gossip, b.known, -time.Hour))
	for began := time.Now(); time.Since(began) < 8*time.Second && !t.Failed(); pass(t, 500*time.Millisecond) {
		b.well(t)
		b.clocksAgree(t)
	}
}

func TestAttackMovedByGossip(t *testing.T) {
	t.Parallel()
	b := besiege(t, 3)
	for i, m := range b.members {
		made(t, attacks.MoveByGossip(t.Context(), m.gossip, append(b.known[:i:i], b.known[i+1:]...)))
	}
	b.staysWell(t, 8*time.Second)
}

func TestAttackMovedByHandshake(t *testing.T) {
	t.Parallel()
	b := besiege(t, 3)
	for i, m := range b.members {
		made(t, attacks.MoveByHandshake(t.Context(), m.raft, b.known[i], append(b.known[:i:i], b.known[i+1:]...)))
	}
	b.staysWell(t, 8*time.Second)
}
