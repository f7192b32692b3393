package testlog_test

import (
	"testing"

	"github.com/snowraft/snowraft/internal/test/testlog"
)

// TestOutputOutlivesItsTest writes after the end of a test. A write to the test's own output would panic.
func TestOutputOutlivesItsTest(t *testing.T) {
	t.Parallel()
	var out *testlog.Output
	t.Run("ends", func(t *testing.T) {
		out = testlog.Of(t)
		if n, err := out.Write([]byte("during the test\n")); n != 16 || err != nil {
			t.Errorf("Write() = %d, %v", n, err)
		}
	})
	if n, err := out.Write([]byte("after the test\n")); n != 15 || err != nil {
		t.Errorf("Write() after the test = %d, %v, want it dropped", n, err)
	}
}
