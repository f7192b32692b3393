//go:build process

package processtest

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// TestLostQuorum kills two of three members. The third keeps issuing until its window
// ends, as it reported, and resumes automatically when one of the two is back.
func TestLostQuorum(t *testing.T) {
	t.Parallel()
	members := startCluster(t, 3, "--initial-max-window", "4s")
	ledger := newLedger()
	load, began := newLoad(t, ledger), time.Now()
	for _, m := range members {
		m.untilWindow("default", 2500*time.Millisecond)
		ledger.mustAsk(m, 100)
	}
	lead := leader(t, members)
	survivor, dead := others(members, lead)[0], []*member{lead, others(members, lead)[1]}
	load.loyal(survivor, 4, pace, few)
	for _, m := range dead {
		m.kill()
	}
	killed := time.Now()

	end := survivor.serveUntil("default")
	if left, stalled := end.Sub(killed), load.stalls.between(began, killed); left < time.Second-stalled || left > 4*time.Second {
		t.Errorf("a window of at most 4 s, extended at its half, ends in %v, want 1 s to 4 s, while this machine stalled for %v", left, stalled)
	}
	until(t, "the survivor's window has ended", func() bool {
		return len(load.failed(func(f failure) bool { return f.member == survivor })) > 0
	})
	load.stop()

	// The member issued until the reported end, and not beyond.
	refused := load.failed(func(failure) bool { return true })
	for _, f := range refused {
		if e := rpc.FromError(f.err); e.Code != codes.Unavailable || e.Reason != rpc.WindowEnded ||
			e.RetryAfter <= 0 || !strings.Contains(e.Message, "restore quorum, or try another member") {
			t.Errorf("the survivor refused with %v %s, retry after %v: %s", e.Code, e.Reason, e.RetryAfter, e.Message)
		}
		if f.ended.Before(end) {
			t.Errorf("the survivor refused %v before its window ended: %v", end.Sub(f.ended), f)
		}
	}
	answers := load.asked[survivor]
	last := answers[len(answers)-1]
	off, stalled := last.Sub(end), load.stalls.between(last, end)
	if off.Abs() > time.Duration(nearWindowEnd)+stalled {
		t.Errorf("the last answer came %v after the end of the window, while this machine stalled for %v", off, stalled)
	}
	if gap := load.gap(survivor, killed, last); gap > time.Duration(longestGapInWindow) {
		t.Errorf("the survivor issued nothing for %v within its window, not counting stalls", gap)
	}
	_, stderr, code := command(t, at(survivor), "id")
	if code != 3 || !strings.Contains(stderr, "[WINDOW_ENDED]") || !strings.Contains(stderr, "restore quorum") {
		t.Errorf("snowraft id: exit code %d, %s", code, stderr)
	}
	if problem := answer[snowraftv1.GetStatusResponse](t, at(survivor), "status").GetProblem(); !strings.Contains(problem, "window ended") {
		t.Errorf("the problem in the status is %q, want that the window ended", problem)
	}

	dead[0].start()
	took := until(t, "the survivor issues again", func() bool { return ledger.ask(survivor, 100) == nil })
	dead[0].untilIssues()
	ledger.mustAsk(dead[0], 100)
	ledger.checkUnique(t)
	ledger.lanes(t, survivor)
	t.Logf("the survivor issued for %v, and again %v after another member started", last.Sub(killed).Round(time.Millisecond), took.Round(time.Millisecond))
}
