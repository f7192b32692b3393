package clock

import (
	"math"
	"testing"
	"time"
)

func TestBetweenSaturates(t *testing.T) {
	for _, c := range []struct {
		from, to int64
		want     time.Duration
	}{
		{0, 5, 5 * time.Millisecond},
		{5, 0, -5 * time.Millisecond},
		{1_800_000_000_000, 1_800_000_000_001, time.Millisecond},
		{0, math.MaxInt64, math.MaxInt64 / time.Millisecond * time.Millisecond},
		{-1, math.MaxInt64, math.MaxInt64 / time.Millisecond * time.Millisecond},
		{math.MinInt64, math.MaxInt64, math.MaxInt64 / time.Millisecond * time.Millisecond},
	} {
		if got := Between(c.from, c.to); got != c.want {
			t.Errorf("Between(%d, %d) = %d, want %d", c.from, c.to, got, c.want)
		}
	}
	if got := Between(math.MaxInt64, math.MinInt64); got >= 0 {
		t.Errorf("backwards: %v", got)
	}
}
