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
