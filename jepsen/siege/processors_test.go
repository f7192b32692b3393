//go:build linux

package siege

import "testing"

func TestUsedFindsProcessorTime(t *testing.T) {
	t.Parallel()
	const stat = "7 (a) (b c) S 1 7 7 0 -1 4194560 900 0 30 0 120 34 5 6 20 0 9 0 1000 1 2 3"
	if got := used(stat); got != 154 {
		t.Errorf("used() = %d, want 154", got)
	}
	if got := used(""); got != 0 {
		t.Errorf("used() of an exited process = %d, want 0", got)
	}
	if now, err := machineTime(); now <= 0 || err != nil {
		t.Errorf("machineTime() = %v, %v", now, err)
	}
}
