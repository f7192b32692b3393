package member

import (
	"testing"

	"github.com/snowraft/snowraft/snowflake"
)

// TestDefaultLayoutIsNeverIdle: availability without quorum rests on the windows of the default layout.
func TestDefaultLayoutIsNeverIdle(t *testing.T) {
	if d := idleAfter(snowflake.Default()); d != 0 {
		t.Errorf("idleAfter(default) = %v, want 0", d)
	}
	other, _ := snowflake.Preset("sonyflake")
	if d := idleAfter(other); d <= 0 {
		t.Errorf("idleAfter(sonyflake) = %v, want a limit", d)
	}
}
