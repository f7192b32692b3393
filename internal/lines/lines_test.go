package lines

import (
	"testing"
	"testing/synctest"
	"time"
)

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
