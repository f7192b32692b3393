//go:build process

package processtest

import (
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/snowraft/snowraft/internal/rpc"
	"github.com/snowraft/snowraft/internal/test/depth"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/snowflake"
)

// used returns the number of workers of a layout that were ever granted.
func used(t *testing.T, askAt *member, layout string) int {
	t.Helper()
	return int(answer[snowraftv1.ListWorkersResponse](t, at(askAt), "worker", "list", "--layout", layout).GetUsed())
}

// TestRestartStorm restarts one member repeatedly: first gracefully, and then
// like a crash loop.
func TestRestartStorm(t *testing.T) {
	t.Parallel()
	graceful, crashes, most := depth.Of(10, 20), depth.Of(25, 50), depth.Of(30, 60) // most: of workers
	members := startCluster(t, 3)
	ledger := newLedger()
	lead := leader(t, members)
	m := others(members, lead)[0]
	before := used(t, lead, "default")
	for range graceful {
		m.stop()
		m.start()
		within(t, issuesAfterBusyStart, m.name+" issues after a graceful restart", func() bool { return ledger.ask(m, 100) == nil })
	}
	if after := used(t, lead, "default"); after != before {
		t.Errorf("%d graceful restarts used %d more workers, want 0", graceful, after-before)
	}

	began := time.Now()
	var slowest time.Duration
	for i := range crashes {
		m.kill()
		// A crash loop is not faster than this pace, and the number of workers depends on the pace.
		if wait := time.Until(began.Add(time.Duration(i) * 1200 * time.Millisecond)); wait > 0 {
			pass(t, wait)
		}
		m.start()
		if i%5 == 4 { // another crash, during the start
			pass(t, rand.N(200*time.Millisecond))
			m.kill()
			m.start()
		}
		slowest = max(slowest, within(t, issuesAfterBusyStart, m.name+" issues after a crash", func() bool { return ledger.ask(m, 100) == nil }))
		for _, o := range others(members, m) {
			ledger.mustAsk(o, 100)
		}
	}
	storm := time.Since(began)
	after := used(t, lead, "default")
	if after > most {
		t.Errorf("%d crashes used %d workers, want at most %d", crashes, after, most)
	}
	ledger.checkUnique(t)
	ledger.lanes(t, lead)
	t.Logf("%d crashes in %v used %d workers, %d before; the member issued at most %v after a start",
		crashes, storm.Round(time.Second), after, before, slowest.Round(time.Millisecond))
}

// TestRestartStormWithFewWorkers is TestRestartStorm with only 8 workers, of which
// the other members hold 4.
func TestRestartStormWithFewWorkers(t *testing.T) {
	t.Parallel()
	const name, enough = "few", 3
	members := startCluster(t, 3, "--lanes", "2")
	ledger := &ledger{layout: fewWorkers(t, name)}
	lead := leader(t, members)
	m := others(members, lead)[0]
	if _, stderr, code := command(t, at(lead), "layout", "create", name, "--fields", snowflake.FormatFields(ledger.layout.Spec().Fields)); code != 0 {
		t.Fatal(stderr)
	}
	for _, o := range members {
		until(t, o.name+" issues in the new layout", func() bool { return ledger.ask(o, 1) == nil })
	}
	for _, o := range others(members, m) {
		// With windows this long, the abandoned windows end first.
		o.untilWindow(name, 8*time.Second)
	}

	exhausted, restarts := 0, 0
	for ; exhausted < enough; restarts++ {
		if restarts > 100 {
			t.Fatalf("%d restarts exhausted the workers only %d times", restarts, exhausted)
		}
		m.kill()
		m.start()
		var refused *rpc.Error
		var asked time.Time
		until(t, m.name+" issues or reports that no worker is free", func() bool {
			asked = time.Now()
			err := ledger.ask(m, 100)
			if err == nil {
				return true
			}
			if e := rpc.FromError(err); e.Code == codes.ResourceExhausted {
				refused = e
				return true
			}
			return false
		})
		if refused == nil {
			continue
		}
		exhausted++
		checkRetry(t, ledger, m, refused, asked)
	}
	ledger.checkUnique(t)
	t.Logf("%d restarts, the workers were exhausted %d times", restarts, exhausted)
}

// checkRetry compares the retry time in the refusal of a request with the time at which the first worker becomes free, and retries
// then.
func checkRetry(t *testing.T, ledger *ledger, m *member, refused *rpc.Error, asked time.Time) {
	t.Helper()
	answered := time.Now()
	millis, err := strconv.ParseInt(refused.Metadata[rpc.MetadataRetryAt], 10, 64)
	if err != nil || refused.Reason != rpc.WorkersExhausted || refused.Metadata[rpc.MetadataLayout] != ledger.layout.Name() {
		t.Fatalf("refused with %s %v", refused.Reason, refused.Metadata)
	}
	retryAt := time.UnixMilli(millis)
	const precision = 10 * time.Millisecond
	most, least := retryAt.Sub(asked)+precision, retryAt.Sub(answered)-precision
	if refused.RetryAfter > time.Millisecond && (refused.RetryAfter < least || refused.RetryAfter > most) {
		t.Errorf("retry after %v, but the time to retry is in %v to %v", refused.RetryAfter, least, most)
	}
	resp, err := m.workers.ListWorkers(t.Context(), &snowraftv1.ListWorkersRequest{Layout: ledger.layout.Name()})
	if err != nil {
		t.Fatal(err)
	}
	if resp.GetCapacity() != 8 || resp.GetUsed() != 8 {
		t.Errorf("refused with %d of %d workers used", resp.GetUsed(), resp.GetCapacity())
	}
	soonest := time.UnixMilli(resp.GetWorkers()[0].GetUntilAtMs())
	for _, w := range resp.GetWorkers() {
		if end := time.UnixMilli(w.GetUntilAtMs()); end.Before(soonest) {
			soonest = end
		}
	}
	if !retryAt.Equal(soonest) {
		t.Errorf("retry at %v, but the first worker is free at %v", retryAt, soonest)
	}
	pass(t, time.Until(retryAt))
	if err := ledger.ask(m, 100); err != nil {
		t.Errorf("refused again %v after the time to retry: %v; before: %s", time.Since(retryAt).Round(time.Millisecond), err, refused.Message)
	}
}

// fewWorkers returns a layout with 8 workers.
func fewWorkers(t *testing.T, name string) *snowflake.Layout {
	t.Helper()
	spec := snowflake.Default().Spec()
	var err error
	spec.Name = name
	if spec.Fields, err = snowflake.ParseFields("time:41,worker:3,sequence:12"); err != nil {
		t.Fatal(err)
	}
	layout, err := snowflake.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	return layout
}
