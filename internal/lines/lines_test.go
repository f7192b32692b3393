package lines

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

func TestRepeatAllowsFewerAndFewerLines(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for range 2 {
			var r Repeat
			var allowed []time.Duration
			for began := time.Now(); time.Since(began) < 4*time.Minute; <-time.After(100 * time.Millisecond) {
				if r.Allow() {
					allowed = append(allowed, time.Since(began))
				}
			}
			s := time.Second
			if want := []time.Duration{0, 5 * s, 15 * s, 35 * s, 75 * s, 135 * s, 195 * s}; !slices.Equal(allowed, want) {
				t.Errorf("lines at %v, want %v", allowed, want)
			}
		}
	})
}

func TestLimitAllowsMostLinesPerWindow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var l Limit
		for window := range 3 {
			allowed := 0
			for range 10_000 {
				if l.Allow() {
					allowed++
				}
			}
			if allowed != Most {
				t.Errorf("%d lines in window %d, want %d", allowed, window, Most)
			}
			<-time.After(Window)
		}
	})
}
