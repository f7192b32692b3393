package allocator_test

import (
	"context"
	"flag"
	"fmt"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowraft/snowraft/allocator"
	"github.com/snowraft/snowraft/internal/clock"
	"github.com/snowraft/snowraft/internal/test/depth"
	"github.com/snowraft/snowraft/snowflake"
)

var (
	herdHolders = flag.Int("herd.holders", depth.Little(200, 1000), "how many holders begin at the same time")
	herdRate    = flag.Int("herd.rate", 5000, "commands that their cluster commits per second")
)

// TestHoldersThatBeginTogetherDriftApart checks the number of commands in each minute after all holders began at the
// same time, and after all requests failed for the length of a window.
func TestHoldersThatBeginTogetherDriftApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const window = 10 * time.Minute
		h := newHerd(t, window)
		h.open(*herdHolders)
		begun := h.busiest(0, 10)
		settled, average := h.busiest(10, 30), h.average(10, 30)

		h.leader(false)
		h.pass(time.Minute * 8)
		h.leader(true)
		back := h.busiest(38, 39)
		again, averageAgain := h.busiest(40, 60), h.average(40, 60)
		t.Logf("%d holders: %.2f commands per second, %.2f in the busiest minute after the start, %.2f later, %.2f after an outage, %.2f later",
			*herdHolders, average, begun, settled, back, again)

		even := float64(*herdHolders) / (window.Seconds() * 0.525)
		for when, busiest := range map[string]float64{"10 minutes after the start": settled, "2 minutes after an outage": again} {
			if most := max(1.5*even, even+5*math.Sqrt(even/60)); busiest > most { // five standard deviations of chance
				t.Errorf("%s: %.2f commands per second in the busiest minute, want about %.2f, at most %.2f", when, busiest, even, most)
			}
		}
		if average > 1.1*even || averageAgain > 1.15*even {
			t.Errorf("%.2f and %.2f commands per second, want %.2f", average, averageAgain, even)
		}
		if most := 6.5 * float64(*herdHolders) / 60; begun > most {
			t.Errorf("%.2f commands per second in the busiest minute after the start, want at most %.2f", begun, most)
		}
	})
}

// herd is many holders, and a cluster that only grants them windows, one command after the other.
type herd struct {
	*testing.T
	start   time.Time
	layout  *snowflake.Layout
	watch   *clock.Watch
	window  time.Duration
	issuers []*allocator.Issuer

	mu      sync.Mutex
	away    bool // no leader
	workers uint64
	busy    time.Time // end of the commands that came before
	minutes map[int]int
}

func newHerd(t *testing.T, window time.Duration) *herd {
	layout, err := snowflake.New(snowflake.Spec{
		Name: "wide", UnitMillis: 1, EpochMillis: snowflake.Default().Spec().EpochMillis,
		Fields: []snowflake.FieldBits{{Field: snowflake.FieldTime, Bits: 41}, {Field: snowflake.FieldWorker, Bits: 17}, {Field: snowflake.FieldSequence, Bits: 5}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return &herd{
		T: t, start: time.Now(), layout: layout, window: window, minutes: map[int]int{},
		watch: clock.NewWatch(newHand().read, nil, limits),
	}
}

func (h *herd) open(count int) {
	for i := range count {
		issuer, err := allocator.Open(allocator.Config{Layout: h.layout, Holder: fmt.Sprint("app-", i), Nonce: allocator.Nonce{1}, Granter: h, Watch: h.watch})
		if err != nil {
			h.Fatal(err)
		}
		h.issuers = append(h.issuers, issuer)
	}
	h.Cleanup(func() {
		var closing sync.WaitGroup
		for _, issuer := range h.issuers {
			closing.Go(func() { _ = issuer.Close(h.Context()) })
		}
		closing.Wait()
	})
}

func (h *herd) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// leader sets whether there is a leader.
func (h *herd) leader(there bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.away = !there
}

// busiest waits for the end of some minutes, and returns the commands per second of the busiest one.
func (h *herd) busiest(from, until int) float64 {
	h.pass(time.Until(h.start.Add(time.Duration(until) * time.Minute)))
	h.mu.Lock()
	defer h.mu.Unlock()
	most := 0
	for m := from; m < until; m++ {
		most = max(most, h.minutes[m])
	}
	return float64(most) / 60
}

func (h *herd) average(from, until int) float64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	sum := 0
	for m := from; m < until; m++ {
		sum += h.minutes[m]
	}
	return float64(sum) / 60 / float64(until-from)
}

// commit waits for a command. As in Raft, a command that does not enter the queue within a second is not
// carried out.
func (h *herd) commit(ctx context.Context) error {
	h.mu.Lock()
	now := time.Now()
	if h.away {
		h.mu.Unlock()
		return errDown
	}
	h.busy = h.busy.Add(max(0, now.Sub(h.busy)))
	wait, refused := h.busy.Sub(now)+time.Second/time.Duration(*herdRate), error(nil)
	if wait > time.Second {
		wait, refused = time.Second, errDown
	} else {
		h.busy = now.Add(wait)
		h.minutes[int(h.busy.Sub(h.start)/time.Minute)]++
	}
	h.mu.Unlock()
	done := time.NewTimer(wait)
	defer done.Stop()
	select {
	case <-done.C:
		return refused
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (h *herd) AcquireWorker(ctx context.Context, r allocator.AcquireRequest) (allocator.Grant, error) {
	if err := h.commit(ctx); err != nil {
		return allocator.Grant{}, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.workers++
	g := h.grant(r.NowMillis, r.Window)
	g.Worker, g.Token = h.workers-1, h.workers
	return g, nil
}

func (h *herd) ExtendWindow(ctx context.Context, r allocator.ExtendRequest) (allocator.Grant, error) {
	if err := h.commit(ctx); err != nil {
		return allocator.Grant{}, err
	}
	g := h.grant(r.NowMillis, r.Window)
	g.Worker, g.Token, g.Until = r.Worker, r.Token, max(g.Until, r.Until)
	return g, nil
}

// grant returns a window that starts now.
func (h *herd) grant(now int64, window time.Duration) allocator.Grant {
	from := h.layout.TickAt(now)
	return allocator.Grant{From: from, Until: from + min(window, h.window).Milliseconds(), MaxWindow: h.window}
}

// ReleaseWorker does nothing: releases are not counted.
func (h *herd) ReleaseWorker(context.Context, allocator.ReleaseRequest) error { return nil }
