//go:build prometheus

package processtest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/snowraft/snowraft/jepsen/skew"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// watched is a cluster with a Prometheus that evaluates its alerts.
type watched struct {
	t       *testing.T
	p       *prometheus
	allowed []string // alerts that fired in the phase before, and need time to resolve
}

// raised waits until all alerts of want fire. It fails if another alert fires that did not fire before and is not in may.
func (w *watched) raised(phase string, want []string, may ...string) {
	w.t.Helper()
	began, now := time.Now(), []string(nil)
	defer func() {
		if w.t.Failed() {
			w.t.Logf("%s: firing %v after %v, want %v", phase, now, time.Since(began).Round(time.Second), want)
		}
	}()
	known := slices.Concat(want, may, w.allowed)
	until(w.t, phase+": the alerts fire", func() bool {
		now = w.p.firing()
		for _, name := range now {
			if !slices.Contains(known, name) {
				w.t.Errorf("%s: %s fires after %v", phase, name, time.Since(began).Round(time.Second))
				known = append(known, name) // one error per alert
			}
		}
		pass(w.t, 200*time.Millisecond)
		return !slices.ContainsFunc(want, func(name string) bool { return !slices.Contains(now, name) })
	})
	w.allowed = now
	w.t.Logf("%s: after %v fire %s", phase, time.Since(began).Round(100*time.Millisecond), strings.Join(now, ", "))
}

// resolved waits until none of the alerts fires; without names, until no alert fires.
func (w *watched) resolved(phase string, alerts ...string) {
	w.t.Helper()
	var left []string
	defer func() {
		if w.t.Failed() {
			w.t.Logf("%s: left %v", phase, left)
		}
	}()
	took := until(w.t, phase+": the alerts are resolved", func() bool {
		left = slices.DeleteFunc(w.p.firing(), func(name string) bool { return len(alerts) > 0 && !slices.Contains(alerts, name) })
		pass(w.t, 200*time.Millisecond)
		return len(left) == 0
	})
	w.t.Logf("%s: resolved after %v", phase, took.Round(100*time.Millisecond))
}

// silent fails for each alert that fires within d.
func (w *watched) silent(phase string, d time.Duration) {
	w.t.Helper()
	known := make(map[string]bool)
	for began := time.Now(); time.Since(began) < d; pass(w.t, 200*time.Millisecond) {
		for _, name := range w.p.firing() {
			if !known[name] {
				w.t.Errorf("%s: %s fires after %v", phase, name, time.Since(began).Round(time.Second))
			}
			known[name] = true
		}
	}
}

// TestAlertsOfFailingCluster runs three members with callers through a wrong clock, the loss of the leader, of quorum and of all
// members, and the recovery. Only the alerts for these failures fire.
func TestAlertsOfFailingCluster(t *testing.T) {
	t.Parallel()
	if err := skew.Check(); err != nil {
		t.Fatal(err)
	}
	members := newCluster(t, 3, "--initial-max-window", "6s")
	last := members[2]
	clock := startWithClock(t, members)
	w := &watched{t: t, p: startPrometheus(t, time.Second, len(members), fmt.Sprintf(
		"  - {job_name: snowraft, static_configs: [{targets: %s, labels: {cluster: test}}]}\n", targets(members...)))}
	callEach(t, members)
	until(t, "the member with the wrong clock leads", func() bool {
		_, _ = members[0].cluster.TransferLeadership(t.Context(), &snowraftv1.TransferLeadershipRequest{Member: last.name})
		return leader(t, members) == last
	})
	w.silent("healthy", 12*time.Second)

	if err := clock.Set(-5 * time.Second); err != nil {
		t.Fatal(err)
	}
	w.raised("a clock set back", []string{"SnowraftClockOff", "SnowraftMemberNotReady", "SnowraftIdsRefused"})
	if err := clock.Set(0); err != nil {
		t.Fatal(err)
	}
	w.resolved("the clock corrected", "SnowraftClockOff", "SnowraftMemberNotReady")

	first := leader(t, members)
	rest := others(members, first)
	first.kill()
	// Probes of the dead member fail for the seconds until gossip notices, a large part of a hastened range.
	const probes = "SnowraftUdpBlocked"
	w.raised("the leader killed", []string{"SnowraftMemberDown", "SnowraftQuorumAtRisk"}, probes)

	rest[0].kill()
	w.raised("quorum lost", []string{
		"SnowraftNoLeader", "SnowraftMemberDown", "SnowraftMemberNotReady", "SnowraftNoneReady", "SnowraftWindowNotExtended", "SnowraftIdsRefused",
	}, probes)
	rest[1].kill()
	w.raised("all members gone", []string{"SnowraftClusterGone"}, probes)
	w.resolved("all members gone", "SnowraftNoLeader", "SnowraftMemberDown", "SnowraftMemberNotReady", "SnowraftNoneReady",
		"SnowraftWindowNotExtended", "SnowraftMemberCutOff", "SnowraftQuorumAtRisk")
	for _, m := range members {
		m.start()
	}
	w.resolved("all members back")
}

// callEach requests an ID from each member ten times per second until the test ends.
func callEach(t *testing.T, members []*member) {
	for _, m := range members {
		go repeat(t, func() { _, _ = m.generate("", 1) })
	}
}
