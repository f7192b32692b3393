package depth

import (
	"testing"

	"github.com/snowraft/snowraft/internal/test/race"
)

func TestOf(t *testing.T) {
	for value, want := range map[string]int{"": 1, "little": 1, "ordinary": 1, "whole": 2} {
		t.Setenv("SNOWRAFT_DEPTH", value)
		if got := Of(1, 2); got != want {
			t.Errorf("Of(1, 2) = %d with SNOWRAFT_DEPTH=%q, want %d", got, value, want)
		}
	}
}

func TestWalk(t *testing.T) {
	for value, want := range map[string]int{"": 1, "little": 1, "ordinary": 1, "whole": 2, "night": 3} {
		t.Setenv("SNOWRAFT_DEPTH", value)
		if got := Walk(1, 2, 3); got != want {
			t.Errorf("Walk(1, 2, 3) = %d with SNOWRAFT_DEPTH=%q, want %d", got, value, want)
		}
	}
}

func TestLittle(t *testing.T) {
	for value, few := range map[string]bool{"": race.Enabled, "little": true, "ordinary": false, "whole": false} {
		t.Setenv("SNOWRAFT_DEPTH", value)
		if got := Little(1, 2); (got == 1) != few {
			t.Errorf("Little(1, 2) = %d with SNOWRAFT_DEPTH=%q", got, value)
		}
	}
}
