//go:build process

package processtest

import (
	"math/rand/v2"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// few returns a number of IDs that a client in production requests.
func few() uint32 { return 1 + rand.N[uint32](100) }

// TestKillEachMember kills the members one after the other, the leader first,
// while clients request IDs.
func TestKillEachMember(t *testing.T) {
	members := startCluster(t, 3)
	ledger := newLedger()
	load := newLoad(t, ledger)
	load.roaming(members, 12, few)
	for _, m := range members {
		load.loyal(m, 4, pace, few)
	}
	victims := members
	first := leader(t, members)
	victims = append([]*member{first}, others(victims, first)...)
	ledOnce := false
	for _, victim := range victims {
		for _, m := range others(members, victim) {
			m.untilWindow("default", 3*time.Second) // longer than an election
		}
		victim.untilWindow("default", 9*time.Second) // longer than the downtime and issuesAfterBusyStart
		leads := leader(t, members) == victim
		ledOnce = ledOnce || leads
		killed := time.Now()
		victim.kill()
		pass(t, 3*time.Second) // long enough for an election, and for windows to be extended
		restarted := time.Now()
		victim.start()
		took := within(t, issuesAfterBusyStart, victim.name+" issues again after its restart", func() bool { return ledger.ask(victim, 1) == nil })
		worst := time.Duration(0)
		for _, m := range others(members, victim) {
			gap := load.gap(m, killed, time.Now())
			worst = max(worst, gap)
			if gap > time.Duration(longestGap) {
				t.Errorf("%s issued nothing for %v when %s was killed, not counting stalls", m.name, gap, victim.name)
			}
			report(t, "a running member refused", load.failed(func(f failure) bool { return f.member == m && f.ended.After(killed) }))
		}
		report(t, "a killed member answered with another code than Unavailable", load.failed(func(f failure) bool {
			return f.member == victim && f.ended.After(killed) && status.Code(f.err) != codes.Unavailable
		}))
		t.Logf("killed %s (leader: %v) and restarted it %v later: it issued after %v; the longest gap of the others was %v without %v of stalls",
			victim.name, leads, restarted.Sub(killed).Round(time.Millisecond), took.Round(time.Millisecond), worst.Round(time.Millisecond),
			load.stalls.between(killed, time.Now()).Round(time.Millisecond))
	}
	if !ledOnce {
		t.Error("no leader was killed")
	}
	load.stop()
	report(t, "a request failed at all members", load.failed(func(f failure) bool { return f.member == nil }))
	ledger.checkUnique(t)
	ledger.lanes(t, members[0])
}
