//go:build process

package processtest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/snowraft/snowraft/jepsen/attacks"
)

// A stranger at the ports of a secured cluster reaches nothing, not even with all facts about a member.
func TestAttackSecuredMembers(t *testing.T) {
	t.Parallel()
	b := &besieged{members: newCluster(t, 3, secretFile(t)...)}
	b.start(t)
	for _, m := range b.members {
		b.known = append(b.known, attacks.Meta{
			ID: m.status().GetMemberId(), Name: m.name, Cluster: uuid.NewString(), Starts: 1, Raft: m.raft, API: m.api, Gossip: m.gossip, Commands: 1,
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var all sync.WaitGroup
	for i, m := range b.members {
		all.Go(func() { b.everything(ctx, t, i, m) })
	}
	all.Wait()
	b.staysWell(t, 5*time.Second)
	if voters, nonvoters := b.members[0].voters(); voters != 3 || nonvoters != 0 {
		t.Errorf("%d voters, %d nonvoters; want 3, 0", voters, nonvoters)
	}
}

// everything runs every attack on the ports for members at one member.
func (b *besieged) everything(ctx context.Context, t *testing.T, i int, m *member) {
	others := append(b.known[:i:i], b.known[i+1:]...)
	for name, attack := range map[string]func() error{
		"overhear": func() error { _, err := attacks.Overhear(ctx, m.gossip); return err },
		"forged nodes": func() error {
			return attacks.ForgeNodes(ctx, m.gossip, 1, time.Hour)
		},
		"impersonate": func() error { return attacks.Impersonate(ctx, m.gossip, others, time.Hour) },
		"raft":        func() error { return attacks.Raft(ctx, m.raft, b.known[i]) },
		"moved":       func() error { return attacks.MoveByHandshake(ctx, m.raft, b.known[i], others) },
	} {
		if err := attack(); !errors.Is(err, attacks.ErrShut) {
			t.Errorf("%s: %s: %v, want an ErrShut", m.name, name, err)
		}
	}
	made(t, attacks.MoveByGossip(ctx, m.gossip, others))
	made(t, attacks.ShortVersions(ctx, m.gossip))
	made(t, attacks.MillionNodes(ctx, m.gossip, 60))
	made(t, attacks.NestedCompression(ctx, m.gossip))
}
