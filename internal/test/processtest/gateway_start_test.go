//go:build process || browser || prometheus || redisclients || examples || databases || foreign

package processtest

import (
	"strings"
	"testing"
	"time"
)

// startGateway starts a gateway to members, and waits until it issues IDs. Its clients see the
// gateway like a member.
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
