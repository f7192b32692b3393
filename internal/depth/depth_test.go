package depth

import "testing"

func TestOf(t *testing.T) {
	for value, want := range map[string]int{"": 1, "whole": 2} {
		t.Setenv("SNOWRAFT_DEPTH", value)
		if got := Of(1, 2); got != want {
			t.Errorf("Of(1, 2) = %d with SNOWRAFT_DEPTH=%q, want %d", got, value, want)
		}
	}
}
