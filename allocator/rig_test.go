package allocator_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/snowraft/snowraft/allocator"
	"github.com/snowraft/snowraft/internal/clock"
	"github.com/snowraft/snowraft/snowflake"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// someDay is the start of the tests' clocks. The start of synctest's own clock is before the layouts' epochs.
var someDay = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)

// hand is a clock that follows synctest's time and that a test can set.
type hand struct {
	start  time.Time
	offset atomic.Int64 // ms
	stall  atomic.Int64 // the next reader waits so long for a processor, after its reading; ns
}

func newHand() *hand { return &hand{start: time.Now()} }

func (h *hand) read() clock.Reading {
	passed := time.Since(h.start)
	if stall := h.stall.Swap(0); stall > 0 {
		time.Sleep(time.Duration(stall)) // the bubble's time
	}
	return clock.Reading{Wall: someDay.Add(passed).UnixMilli() + h.offset.Load(), Mono: passed.Milliseconds()}
}

func (h *hand) jump(d time.Duration) { h.offset.Add(d.Milliseconds()) }

// rig is one issuer in a synctest bubble, and the auditor of its IDs.
type rig struct {
	*testing.T
	layout   *snowflake.Layout
	cluster  *cluster
	clock    *hand
	observed atomic.Int64
	watch    *clock.Watch
	cfg      allocator.Config
	issuer   *allocator.Issuer
	seen     map[uint64]bool
	starts   byte
}

var limits = clock.Limits{WaitThreshold: time.Second, MaxOffset: 500 * time.Millisecond}

// aheadOfClock is the time by which a lane may issue ahead of the clock.
const aheadOfClock = 5 * time.Millisecond

// run runs a test in a bubble. configure, if not nil, changes the rig before
// the issuer is opened.
func run(t *testing.T, configure func(*rig), test func(*rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := &rig{T: t, layout: snowflake.Default(), clock: newHand(), seen: map[uint64]bool{}}
		r.watch = clock.NewWatch(r.clock.read, &r.observed, limits)
		r.cfg = allocator.Config{Holder: "test", Watch: r.watch, Logger: slog.New(slog.DiscardHandler)}
		if configure != nil {
			configure(r)
		}
		r.open()
		t.Cleanup(func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			_ = r.issuer.Close(ctx)
		})
		test(r)
	})
}

// open opens the issuer, or opens it again like a restarted process.
func (r *rig) open() {
	r.Helper()
	if r.cluster == nil {
		r.cluster = newCluster(r.layout)
	}
	r.starts++
	r.cfg.Nonce = allocator.Nonce{r.starts}
	r.cfg.Layout, r.cfg.Granter = r.layout, r.cluster
	var err error
	if r.issuer, err = allocator.Open(r.cfg); err != nil {
		r.Fatal(err)
	}
}

func swap(r *rig) {
	l := limits
	l.Swap = true
	r.watch.SetLimits(l)
}

// compare has the clock compared with that of another member, which shows the same.
func (r *rig) compare() { r.watch.ObserveMember("a", r.clock.read().Wall, 0, true) }

// settle waits until everything has happened that needs no time.
func (r *rig) settle() { synctest.Wait() }

// pass waits for a duration.
func (r *rig) pass(d time.Duration) {
	time.Sleep(d) // the bubble's time
	synctest.Wait()
}

// audit checks an ID, and adds it to those that were issued.
func (r *rig) audit(id uint64) snowflake.Parts {
	parts, fault := r.judge(id)
	if fault != "" {
		r.Helper() // too slow for each ID of a batch
		r.Fatal(fault)
	}
	r.seen[id] = true
	return parts
}

// judge says what is wrong with an ID.
func (r *rig) judge(id uint64) (parts snowflake.Parts, fault string) {
	parts, err := r.layout.Unpack(id)
	ahead := time.Duration(r.layout.MillisAt(parts.Tick)-r.clock.read().Wall) * time.Millisecond
	switch {
	case err != nil:
		fault = err.Error()
	case r.seen[id]:
		fault = fmt.Sprintf("%d was issued twice: %+v", id, parts)
	case !r.cluster.covers(parts.Worker, parts.Tick, r.cfg.Nonce):
		fault = fmt.Sprintf("%+v is outside of every window of this process", parts)
	case ahead > 5*time.Millisecond:
		fault = fmt.Sprintf("%+v is %v ahead of the clock", parts, ahead)
	}
	return parts, fault
}

// next takes one ID, which must be available.
func (r *rig) next(after uint64) uint64 {
	r.Helper()
	id, err := r.issuer.Next(r.Context(), after)
	if err != nil {
		r.Fatal(err)
	}
	r.audit(id)
	if id <= after {
		r.Fatalf("%d is not above %d", id, after)
	}
	return id
}

// take takes a batch, which must be available.
func (r *rig) take(count uint32, after uint64) []uint64 {
	r.Helper()
	ranges, err := r.issuer.Take(r.Context(), nil, count, after)
	if err != nil {
		r.Fatal(err)
	}
	ids := expand(ranges)
	if len(ids) != int(count) {
		r.Fatalf("%d IDs, want %d", len(ids), count)
	}
	for _, id := range ids {
		r.audit(id)
		if id <= after {
			r.Fatalf("%d is not above %d", id, after)
		}
	}
	return ids
}

func expand(ranges []allocator.Range) (ids []uint64) {
	for _, r := range ranges {
		for id := range r.All() {
			ids = append(ids, id)
		}
	}
	return ids
}

// timed returns how long f took.
func timed(f func()) time.Duration {
	start := time.Now()
	f()
	return time.Since(start)
}

// about reports whether a duration is as expected; clocks have a resolution of 1 ms.
func about(took, want time.Duration) bool { return (took - want).Abs() <= 2*time.Millisecond }

// refused returns the error of a request, which must fail with that type, and the duration of the request.
func refused[E error](r *rig) (err E, took time.Duration) {
	r.Helper()
	took = timed(func() {
		id, got := r.issuer.Next(r.Context(), 0)
		if got == nil {
			r.Fatalf("issued %d", id)
		}
		if !errors.As(got, &err) {
			r.Fatalf("%T: %v", got, got)
		}
	})
	return err, took
}

// lane returns the state of the first lane.
func (r *rig) lane() allocator.LaneStatus { return r.issuer.Lanes()[0] }
