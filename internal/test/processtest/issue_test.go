//go:build process

package processtest

import (
	"math/rand/v2"
	"testing"

	"github.com/snowraft/snowraft/internal/test/depth"
)

// batch returns a number of IDs for a request: one, or up to 10,000.
func batch() uint32 {
	if rand.N(2) == 0 {
		return 1
	}
	return 1 + rand.N[uint32](10_000)
}

// TestManyClients runs 100 clients that call each member as fast as they can.
func TestManyClients(t *testing.T) {
	clients, requests := 100, depth.Of(5000, 50_000)
	members := startCluster(t, 3)
	ledger := newLedger()
	load := newLoad(t, ledger)
	for _, m := range members {
		load.loyal(m, clients, 0, batch)
	}
	for _, m := range members {
		load.untilAsked(m, requests)
	}
	load.stop()
	report(t, "a request failed", load.failed(func(failure) bool { return true }))

	ledger.checkUnique(t)
	lanes := ledger.lanes(t, members[0])
	for _, lane := range lanes {
		checkOrder(t, lane)
	}
	t.Logf("%d lanes, %d requests", len(lanes), len(load.asked[members[0]])+len(load.asked[members[1]])+len(load.asked[members[2]]))
}
