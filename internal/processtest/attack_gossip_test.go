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
