//go:build process

package processtest

import (
	"strings"
	"testing"
	"time"
)

// startGateway starts a gateway in front of members, and waits until it issues. To its clients
// it is as one of them.
func startGateway(t *testing.T, name string, members ...*member) *member {
	t.Helper()
	g := newMember(t, name)
	g.gateway(nil, members...)
	g.untilIssues()
	return g
}

// gateway starts a gateway on the ports of a member.
func (m *member) gateway(env []string, members ...*member) {
	m.t.Helper()
	m.process = start(m.t, env, append([]string{
		"gateway", "--name", m.name, "--members", strings.Join(apis(members), ","), "--api-addr", m.api, "--http-addr", m.http,
	}, m.flags...)...)
	m.t.Cleanup(func() {
		if m.t.Failed() {
			m.t.Logf("%s, started at %s:\n%s", m.name, m.began.Format(time.TimeOnly), m.stderr.tail(40))
		}
	})
}

// TestGatewaysHideKills kills the members one after the other behind two gateways. No request to
// a gateway fails, and no ID comes twice.
func TestGatewaysHideKills(t *testing.T) {
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
		pass(t, 2*time.Second)
		victim.start()
		victim.untilIssues()
		for _, g := range gateways {
			report(t, "a gateway refused", load.failed(func(f failure) bool { return f.member == g && f.ended.After(killed) }))
			t.Logf("killed %s: the longest gap of %s was %v, of this test %v", victim.name, g.name,
				load.gap(g, killed, time.Now()).Round(time.Millisecond), load.gap(nil, killed, time.Now()).Round(time.Millisecond))
		}
	}
	load.stop()
	ledger.checkUnique(t)
	for _, g := range gateways {
		g.stop()
	}
}
