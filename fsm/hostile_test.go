package fsm

import (
	"math"
	"testing"

	"github.com/snowraft/snowraft/internal/limits"
	"github.com/snowraft/snowraft/snowflake"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// TestHostileValues applies every extreme value to every command: no panic, no grant
// outside the layout, and a state that can be restored.
func TestHostileValues(t *testing.T) {
	extremes := []int64{math.MinInt64, math.MinInt64 + 1, -1, 0, 1, epoch - 1, epoch, epoch + 10, math.MaxInt64 - 1, math.MaxInt64}
	specs := []snowflake.Spec{tiny, wide}
	for _, e := range []int64{math.MinInt64 / 2, -epoch, 0} {
		spec := tiny
		spec.EpochMillis, spec.UnitMillis = e, 3_600_000
		spec.Fields = []snowflake.FieldBits{
			{Field: snowflake.FieldTime, Bits: 61}, {Field: snowflake.FieldWorker, Bits: 1}, {Field: snowflake.FieldSequence, Bits: 1},
		}
		specs = append(specs, spec)
	}
	for _, spec := range specs {
		l := newLog(t, spec)
		l.must(at(epoch, setConfig(&commandv1.Config{
			MaxWindowMs: limits.MaxWindow.Milliseconds(), WaitThresholdMs: limits.MaxThreshold.Milliseconds(), MaxClockOffsetMs: 1,
			Rollback:    commandv1.RollbackPolicy_ROLLBACK_POLICY_SWAP,
			RedisCreate: commandv1.AutoCreate_AUTO_CREATE_OFF,
		}, 0)))
		ticks := int64(snowflakeOf(t, spec).Ticks())
		check := func(r Result) Grant {
			g := r.Grant
			if r.Halted != nil || r.Err == nil && (g.From < 0 || g.From > g.Until || g.Until > ticks) {
				t.Fatalf("%s: %+v", spec.Name, r)
			}
			return g
		}
		for _, now := range extremes {
			for _, x := range extremes {
				cmd := at(now, acquire("a/0", x))
				cmd.GetAcquireWorker().Layout = spec.Name
				g := check(l.do(cmd))
				for _, y := range []int64{x, g.From, g.Until} {
					ext, rel := at(now, extend(g, nonceHash('a'), y, x)), at(now, release(g, nonceHash('a'), y))
					ext.GetExtendWindow().Layout, rel.GetReleaseWorker().Layout = spec.Name, spec.Name
					check(l.do(ext))
					check(l.do(rel))
				}
				check(l.do(at(now, observe(x > 0))))
			}
		}
		back, err := ReadState(readerOf(snapshotBytes(t, l.State)), Version)
		if err != nil || back.Digest() != l.Digest() {
			t.Errorf("%s: restored: %v", spec.Name, err)
		}
	}
}

func snowflakeOf(t *testing.T, spec snowflake.Spec) *snowflake.Layout {
	t.Helper()
	l, err := snowflake.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestIndexesGrow(t *testing.T) {
	l := newLog(t, tiny)
	l.must(at(epoch, acquire("a/0", 1000)))
	before := l.Digest()
	if r := l.Apply(l.index, 0, at(epoch, acquire("b/0", 1000))); r.Halted == nil || r.Failure() == nil || l.Digest() != before {
		t.Errorf("the same index again gave %+v", r)
	}
}
