package allocator_test

import (
	"testing"
	"time"

	"github.com/snowraft/snowraft/snowflake"
)

func must(preset string) *snowflake.Layout {
	l, ok := snowflake.Preset(preset)
	if !ok {
		panic(preset)
	}
	return l
}

func shape(name string, unit int64, fields string, epoch time.Time) *snowflake.Layout {
	parsed, err := snowflake.ParseFields(fields)
	if err != nil {
		panic(err)
	}
	return snowflake.MustNew(snowflake.Spec{Name: name, Fields: parsed, UnitMillis: unit, EpochMillis: epoch.UnixMilli()})
}

// A lane issues as many IDs as its layout allows, and no more.
func TestLayouts(t *testing.T) {
	for _, c := range []struct {
		layout *snowflake.Layout
		lanes  int
		count  uint32
		want   time.Duration // ticks that it takes
	}{
		{snowflake.Default(), 1, 204_800, 50 * time.Millisecond},
		{snowflake.Default(), 4, 163_840, 10 * time.Millisecond},
		{must("sonyflake"), 1, 2560, 100 * time.Millisecond},
		{must("jssafe"), 1, 6400, 100 * time.Millisecond},
		{shape("seconds", 1000, "time:31,worker:10,sequence:8", someDay.Add(-time.Hour)), 1, 2560, 10 * time.Second},
		{shape("half-hours", 1_800_000, "time:31,worker:10,sequence:4", someDay.Add(-24*time.Hour)), 1, 64, 2 * time.Hour},
		{wide(), 1, 100_000, 0},
	} {
		t.Run(c.layout.Name(), func(t *testing.T) {
			run(t, func(r *rig) {
				r.layout = c.layout
				r.cfg.Lanes = c.lanes
			}, func(r *rig) {
				r.pass(5 * time.Second)
				unit := time.Duration(c.layout.Spec().UnitMillis) * time.Millisecond
				phase := time.Duration(r.clock.read().Wall-c.layout.MillisAt(c.layout.TickAt(r.clock.read().Wall))) * time.Millisecond
				took := timed(func() { r.take(c.count, 0) })
				if took < c.want-unit-phase-5*time.Millisecond || took > c.want+max(unit, time.Millisecond) {
					r.Fatalf("%d IDs took %v instead of %v", c.count, took, c.want)
				}
			})
		})
	}
}
