package allocator_test

import (
	"testing"
	"time"

	"github.com/snowraft/snowraft/snowflake"
)

// TestCoarseTicks: a lane of a layout with ticks of a minute starts late in a tick, and the cluster is down at
// the start of the next tick. The window reaches as far as in any other layout.
func TestCoarseTicks(t *testing.T) {
	run(t, func(r *rig) {
		r.layout = snowflake.MustNew(snowflake.Spec{
			Name: "minutes", UnitMillis: 60_000, EpochMillis: someDay.Add(-24*time.Hour - 59*time.Second - 990*time.Millisecond).UnixMilli(), Fields: []snowflake.FieldBits{
				{Field: snowflake.FieldTime, Bits: 30}, {Field: snowflake.FieldWorker, Bits: 8}, {Field: snowflake.FieldSequence, Bits: 20},
			},
		})
	}, func(r *rig) {
		r.next(0)
		r.cluster.set(func() { r.cluster.before = func(call) error { return errDown } })
		r.pass(100 * time.Millisecond)
		r.next(0)
		r.cluster.set(func() { r.cluster.before = nil })
		r.pass(6*time.Minute + 50*time.Second)
		if left := r.lane().ServeUntil.Sub(time.UnixMilli(r.clock.read().Wall)); left < 2*time.Minute {
			r.Fatalf("serves for %v after 7 minutes, want at least 2m", left)
		}
		if n := len(r.cluster.calls("acquire")); n != 1 {
			r.Fatalf("%d acquisitions, want 1", n)
		}
	})
}

// A lane that has used up a tick waits for the next tick, and requests no more than its window.
func TestCoarseTickUsedUp(t *testing.T) {
	run(t, func(r *rig) { r.layout = hours(4) }, func(r *rig) {
		r.take(16, 0)
		r.pass(10 * time.Minute)
		if n, s := len(r.cluster.calls("extend")), r.lane(); n > 15 || s.Problem != "" {
			r.Fatalf("%d extensions in 10m, %+v, want at most 15 and no problem", n, s)
		}
		if took := timed(func() { r.next(0) }); !about(took, 50*time.Minute) {
			r.Fatalf("waited %v for the next tick, want 50m", took)
		}
	})
}

// hours returns a layout with ticks of an hour, at the start of a tick.
func hours(sequenceBits uint8) *snowflake.Layout {
	return snowflake.MustNew(snowflake.Spec{
		Name: "hours", UnitMillis: 3_600_000, EpochMillis: someDay.Add(-24 * time.Hour).UnixMilli(), Fields: []snowflake.FieldBits{
			{Field: snowflake.FieldTime, Bits: 20}, {Field: snowflake.FieldWorker, Bits: 1}, {Field: snowflake.FieldSequence, Bits: sequenceBits},
		},
	})
}
