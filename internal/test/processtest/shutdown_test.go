//go:build process

package processtest

import (
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// TestShutdownUnderLoad stops the leader gracefully while clients request
// so many IDs from it that each request takes about 1 s.
func TestShutdownUnderLoad(t *testing.T) {
	members := startCluster(t, 3)
	ledger := newLedger()
	lead := leader(t, members)
	rest := others(members, lead)
	load := newLoad(t, ledger)
	load.roaming(members, 6, few)
	load.loyal(lead, 4, 0, func() uint32 { return 1_000_000 })
	for _, m := range rest {
		load.loyal(m, 2, pace, few)
	}
	load.untilAsked(lead, 4)

	signalled := load.untilSent(lead)
	lead.signal(syscall.SIGTERM)
	if code := lead.exit(); code != 0 {
		t.Errorf("exit code %d after SIGTERM", code)
	}
	took := time.Since(signalled)
	next := leader(t, rest)
	moved := time.Since(signalled)
	load.stop()

	inFlight := 0
	for _, e := range ledger.all {
		if e.member == lead && e.ended.After(signalled) && load.sent(e.began, signalled) {
			inFlight++
		}
	}
	if inFlight == 0 {
		t.Error("no request was in flight")
	}
	report(t, "a request in flight failed", load.failed(func(f failure) bool {
		return f.member == lead && load.sent(f.began, signalled)
	}))
	report(t, "a later request failed with another code than Unavailable", load.failed(func(f failure) bool {
		return f.member == lead && status.Code(f.err) != codes.Unavailable
	}))
	report(t, "a request to another member failed", load.failed(func(f failure) bool { return f.member != lead }))
	for _, m := range rest {
		if gap := load.gap(m, signalled, signalled.Add(moved)); gap > time.Duration(longestGap) {
			t.Errorf("%s issued nothing for %v, not counting stalls", m.name, gap)
		}
	}
	t.Logf("the leader exited after %v, %s led after %v", took.Round(time.Millisecond), next.name, moved.Round(time.Millisecond))
	lead.start().untilIssues()
	ledger.mustAsk(lead, 100)
	ledger.checkUnique(t)
	ledger.lanes(t, rest[0])
}
