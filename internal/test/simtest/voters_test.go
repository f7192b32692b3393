package simtest

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/snowraft/snowraft/cluster"
)

// Clusters of one to five voters take another voter and lose one while a nonvoter is down, and remove that nonvoter at last.
func TestMembersChangeWhileANonvoterIsDown(t *testing.T) {
	t.Parallel()
	for voters := 1; voters <= 5; voters++ {
		t.Run(fmt.Sprint(voters), func(t *testing.T) {
			t.Parallel()
			simulate(t, options{members: voters - 1 + voters%2}, func(w *world) {
				until := func(v, n int) {
					w.until(2*recovery, fmt.Sprintf("%d voters and %d nonvoters", v, n), func() bool {
						voters, nonvoters := w.voters()
						return voters == v && nonvoters == n
					})
				}
				remove := func(id string) {
					w.until(recovery, "the member is removed", func() bool {
						ctx, cancel := context.WithTimeout(w.Context(), 5*time.Second)
						defer cancel()
						leader := w.leader().proc().member.Node()
						return leader.CheckRemoval(id, false) == nil && leader.Remove(ctx, id, false) == nil
					})
				}
				if voters%2 == 0 { // a cluster begins with an odd number
					w.addNode(0).start()
					until(voters, 0)
				}
				down := w.addNode(0).start()
				until(voters, 1)
				lost := down.proc().member.Node().ID()
				down.crash()
				w.until(recovery, "the loss is noticed", func() bool {
					return slices.ContainsFunc(w.leader().proc().member.Node().Members(), func(m cluster.Member) bool { return m.ID == lost && !m.Alive })
				})
				added := w.addNode(0).start()
				until(voters+1, 1)
				w.untilIssue(recovery, added)
				for _, n := range w.live() {
					if n != w.leader() {
						remove(n.proc().member.Node().ID())
						break
					}
				}
				until(voters, 1)
				remove(lost)
				until(voters, 0)
				w.until(recovery, "the members issue", func() bool { return w.leader().proc().member.Ready() == nil })
			})
		})
	}
}
