package server_test

import (
	"sync"
	"testing"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server"
	"github.com/snowraft/snowraft/snowflake"
)

func TestThreeMembersIssueFromMemory(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		nodes := startCluster(t, 3, func(c *server.Config) { c.Lanes = 2 })
		id := nodes[0].server.ClusterID()
		for _, n := range nodes {
			if n.server.ClusterID() != id || id == "" {
				t.Fatalf("%s is of cluster %q, not %q", n.cfg.Name, n.server.ClusterID(), id)
			}
			ms := n.members()
			if len(ms) != 3 {
				t.Fatalf("%s sees %d members", n.cfg.Name, len(ms))
			}
			for _, m := range ms {
				if m.GetRole() != snowraftv1.MemberRole_MEMBER_ROLE_VOTER {
					t.Errorf("%s is a %s", m.GetName(), m.GetRole())
				}
			}
		}

		// Many clients of every member request single IDs and batches, all at the same time.
		type answer struct {
			from *node
			ids  []int64
		}
		const clients, requests = 20, 60
		var mu sync.Mutex
		var answers []answer
		var wg sync.WaitGroup
		for c := range clients {
			for _, n := range nodes {
				wg.Go(func() {
					for i := range requests {
						count := []uint32{1, 2, 1, 30, 1, 1}[(i+c)%6]
						ids, err := n.generate(count, 0)
						if err != nil {
							t.Errorf("%s: %v", n.cfg.Name, err)
							return
						}
						mu.Lock()
						answers = append(answers, answer{n, ids})
						mu.Unlock()
					}
				})
			}
		}
		wg.Wait()

		all := make(seen)
		layout := snowflake.Default()
		owner := make(map[uint64]string) // worker -> member
		for _, a := range answers {
			all.add(t, a.from.cfg.Name, a.ids...)
			for _, id := range a.ids {
				p, err := layout.Unpack(uint64(id))
				if err != nil {
					t.Fatal(err)
				}
				if before, ok := owner[p.Worker]; ok && before != a.from.cfg.Name {
					t.Fatalf("worker %d is used by %s and by %s", p.Worker, before, a.from.cfg.Name)
				}
				owner[p.Worker] = a.from.cfg.Name
			}
		}
		if len(owner) < 3 || len(owner) > 6 {
			t.Errorf("%d workers are in use by 3 members with 2 lanes each", len(owner))
		}
		// Every worker was granted to the member that used it, and the tick is inside the window.
		for id, from := range all {
			p, _ := layout.Unpack(uint64(id))
			if p.Sequence%512 != 0 {
				continue // the test queries only one of some hundreds
			}
			who, err := nodes[0].ids.WhoIs(t.Context(), &snowraftv1.WhoIsRequest{Id: id})
			if err != nil {
				t.Fatalf("whois %d from %s: %v", id, from, err)
			}
			g := who.GetGrant()
			if g.GetHolder()[:2] != from || p.Tick < g.GetFromTick() || p.Tick >= g.GetUntilTick() {
				t.Fatalf("ID %d of %s: the grant is %v", id, from, g)
			}
		}
	})
}
