package member

import (
	"reflect"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowraft/snowraft/internal/clock"
)

// The leader refuses to propose a grant for a holder whose clock is too far from its own.
func TestPlausibleRefusesClocksTooFarFromTheLeader(t *testing.T) {
	const now = 1_700_000_000_000
	limits := clock.Limits{WaitThreshold: time.Second, MaxOffset: 500 * time.Millisecond}
	m := &Member{clock: clock.NewWatch(func() clock.Reading { return clock.Reading{Wall: now} }, new(atomic.Int64), limits)}
	for off, want := range map[time.Duration]error{
		501 * time.Millisecond:   &clock.SkewError{Ahead: 501 * time.Millisecond, Limit: limits.MaxOffset},
		500 * time.Millisecond:   nil,
		-time.Second:             nil,
		-1001 * time.Millisecond: &clock.BehindError{Behind: 1001 * time.Millisecond, Limit: limits.WaitThreshold},
	} {
		if got := m.plausible(now + off.Milliseconds()); !reflect.DeepEqual(got, want) { //nolint:govet // these are not wrapped
			t.Errorf("%v: %v, want %v", off, got, want)
		}
	}
	limits.Swap = true
	m.clock.SetLimits(limits)
	if err := m.plausible(now - time.Hour.Milliseconds()); err != nil {
		t.Errorf("under swap: %v", err)
	}
}
