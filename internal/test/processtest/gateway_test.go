//go:build process

package processtest

import (
	"testing"
	"time"
)

// TestGatewaysHideKills kills the members one after the other behind two gateways. No request to
// a gateway fails, and no ID is issued twice.
func TestGatewaysHideKills(t *testing.T) {
	t.Parallel()
	members := startCluster(t, 3)
	ledger := newLedger()
	load := newLoad(t, ledger)
	gateways := []*member{startGateway(t, "g1", members[0], members[1]), startGateway(t, "g2", members[2])}
	for _, g := range gateways {
		load.loyal(g, 6, pace, few)
	}
	load.loyal(members[0], 2, pace, few)
	first := leader(t, members)
	for _, victim := range append([]*member{first}, others(members, first)...) {
		for _, m := range others(members, victim) {
			m.untilWindow("default", 5*time.Second) // outlasts an election
		}
		killed := time.Now()
		victim.kill()
		leader(t, others(members, victim))
		for _, g := range gateways {
			load.untilAsked(g, 100) // while the member is down
		}
		victim.start()
		victim.untilIssues()
		for _, g := range gateways {
			report(t, "a gateway refused", load.failed(func(f failure) bool { return f.member == g && f.ended.After(killed) }))
			t.Logf("killed %s: the longest gap of %s was %v", victim.name, g.name, load.gap(g, killed, time.Now()).Round(time.Millisecond))
		}
	}
	load.stop()
	ledger.checkUnique(t)
	for _, g := range gateways {
		g.stop()
	}
}
