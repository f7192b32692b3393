package fsm

import (
	"testing"

	"github.com/snowraft/snowraft/snowflake"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

const minute = 60_000

// newCoarseLog returns a log with the layout tiny in ticks of 1 min.
func newCoarseLog(t *testing.T) *log {
	coarse := tiny
	coarse.UnitMillis = minute
	return newLog(t, coarse)
}

// TestWindowCoversLengthAskedFor asks late in a tick: what is left of the tick does not count as the window.
func TestWindowCoversLengthAskedFor(t *testing.T) {
	l := newCoarseLog(t)
	late := epoch + minute - 5
	g := l.must(at(late, acquire("a/0", 2000))).Grant
	if g.From != 0 || g.Until != 2 {
		t.Errorf("acquisition: %+v, want ticks [0, 2), of which the first has 5 ms left", g)
	}
	if g = l.must(at(late+minute, extend(g, nonceHash('a'), g.Until, 4000))).Grant; g.Until != 3 {
		t.Errorf("extension: %+v, want an end at 3", g)
	}
	if g = l.must(at(late+minute, extend(g, nonceHash('a'), g.Until, minute))).Grant; g.Until != 3 {
		t.Errorf("extension by 1 min, more than [2, 3) has left: %+v, want an end at 3", g)
	}
	// A window that begins later than now covers the length from its begin.
	g = l.must(at(late, acquire("b/0", 5))).Grant
	if next := l.must(at(late, acquire("c/0", minute))).Grant; next.Worker != g.Worker || next.From != 1 || next.Until != 2 {
		t.Errorf("window at the high-water: %+v, want ticks [1, 2) of worker %d", next, g.Worker)
	}
}

// TestWindowEndIsBounded shows the bound that a floor in time can rest on: no window has a tick after that of now
// plus the maximum window.
func TestWindowEndIsBounded(t *testing.T) {
	for _, unit := range []int64{1, 7, 250, minute, 3_600_000} {
		spec := tiny
		spec.UnitMillis = unit
		spec.Fields = []snowflake.FieldBits{
			{Field: snowflake.FieldTime, Bits: 30}, {Field: snowflake.FieldWorker, Bits: 4}, {Field: snowflake.FieldSequence, Bits: 4},
		}
		for _, longest := range []int64{1000, 1001, minute, minute - 1} {
			for _, passed := range []int64{0, 1, unit / 2, unit - 1} {
				l := newLog(t, spec)
				l.must(at(epoch, setConfig(&commandv1.Config{
					MaxWindowMs: longest, WaitThresholdMs: 60_000, MaxClockOffsetMs: 1, Rollback: commandv1.RollbackPolicy_ROLLBACK_POLICY_REFUSE,
					RedisCreate: commandv1.AutoCreate_AUTO_CREATE_OFF,
					Upgrades:    commandv1.Upgrades_UPGRADES_AUTO,
				}, 0)))
				now := epoch + 10*unit + passed
				limit := snowflakeOf(t, spec).TickAt(now + longest)
				g := l.must(at(now, acquire("a/0", 3*longest))).Grant
				if g.Until-1 > limit || l.layouts["tiny"].layout.MillisAt(g.Until) < now+longest {
					t.Errorf("unit %d, maximum %d: %+v, want the last tick at most %d and a window of the maximum", unit, longest, g, limit)
				}
				if g = l.must(at(now, extend(g, nonceHash('a'), g.Until, 3*longest))).Grant; g.Until-1 > limit {
					t.Errorf("unit %d, maximum %d, extended: %+v, want the last tick at most %d", unit, longest, g, limit)
				}
			}
		}
	}
}
