//go:build process

package processtest

import (
	"testing"
	"time"
)

// TestBootstrapInAnyOrder starts three members that wait for each other, in
// different orders and seconds apart.
func TestBootstrapInAnyOrder(t *testing.T) {
	for name, order := range map[string][]int{"ascending": {0, 1, 2}, "descending": {2, 1, 0}, "middle first": {1, 2, 0}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			members := newCluster(t, 3)
			for i, k := range order {
				if i > 0 {
					pass(t, 2*time.Second)
				}
				members[k].start()
			}
			ledger := newLedger()
			for _, m := range members {
				m.untilIssues()
				m.untilVoters(3)
				ledger.mustAsk(m, 1000)
			}
			leader(t, members)
			id := members[0].status().GetClusterId()
			for _, m := range members {
				if s := m.status(); id == "" || s.GetClusterId() != id {
					t.Errorf("%s has joined cluster %q, want %q", m.name, s.GetClusterId(), id)
				}
			}
			ledger.checkUnique(t)
		})
	}
}
