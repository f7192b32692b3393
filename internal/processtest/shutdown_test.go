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
	pass(t, 3*time.Second)

	signalled := time.Now()
	lead.signal(syscall.SIGTERM)
	if code := lead.exit(patience); code != 0 {
		t.Errorf("exit code %d after SIGTERM", code)
	}
	took := time.Since(signalled)
	next := leader(t, rest)
	moved := time.Since(signalled)
	load.stop()

	inFlight := 0
	for _, e := range ledger.all {
		// The client reads the clock shortly before it sends a request.
		if e.member == lead && e.began.Before(signalled.Add(-50*time.Millisecond)) && e.ended.After(signalled) {
			inFlight++
		}
	}
	if inFlight == 0 {
		t.Error("no request was in flight")
	}
	report(t, "a request in flight failed", load.failed(func(f failure) bool {
		return f.member == lead && f.began.Before(signalled.Add(-50*time.Millisecond))
	}))
	report(t, "a later request failed with another code than Unavailable", load.failed(func(f failure) bool {
		return f.member == lead && status.Code(f.err) != codes.Unavailable
	}))
	report(t, "a request to another member failed", load.failed(func(f failure) bool { return f.member != lead }))
	for _, m := range rest {
		if gap := load.gap(m, signalled, signalled.Add(moved)); gap > time.Second+load.gap(nil, signalled, signalled.Add(moved)) {
			t.Errorf("%s issued nothing for %v", m.name, gap)
		}
	}
	t.Logf("the leader exited after %v, %s led after %v", took.Round(time.Millisecond), next.name, moved.Round(time.Millisecond))
	lead.start().untilIssues()
	ledger.mustAsk(lead, 100)
	ledger.checkUnique(t)
	ledger.lanes(t, rest[0])
}
