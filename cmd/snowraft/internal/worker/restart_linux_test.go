package worker

import (
	"slices"
	"testing"
	"time"
)

// A command that fails again and again is restarted after longer and longer pauses.
func TestPausesBeforeRestarts(t *testing.T) {
	t.Parallel()
	var p pauses
	var got []time.Duration
	for _, ran := range []time.Duration{0, 1, 2, 29, 0, 0, 0, 29, 30, 0, 600, 3} {
		got = append(got, p.next(ran*time.Second)/time.Second)
	}
	if want := []time.Duration{1, 2, 4, 8, 16, 30, 30, 30, 1, 2, 1, 2}; !slices.Equal(got, want) {
		t.Errorf("pauses of %d s, want %d", got, want)
	}
}
