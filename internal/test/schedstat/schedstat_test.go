package schedstat

import (
	"os"
	"runtime"
	"testing"
	"time"
)

func TestOfThisProcess(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux reports these times")
	}
	before := Of(os.Getpid())
	for n := 0; Of(os.Getpid()).Ran <= before.Ran; n++ {
		if n == 1_000_000 {
			t.Fatalf("the process has run for %v, and its times stay the same", before)
		}
	}
}

func TestStalled(t *testing.T) {
	for _, c := range []struct{ ran, waited, want time.Duration }{
		{0, 0, 0},
		{10, 0, 0},
		{0, 100, 100},
		{30, 10, 10}, // usually asleep
		{150, 50, 25},
		{-5, 20, 20}, // a thread has ended
	} {
		earlier := Times{Ran: 1000, Waited: 1000}
		later := Times{Ran: earlier.Ran + c.ran, Waited: earlier.Waited + c.waited}
		if got := Stalled(earlier, later, 100); got != c.want {
			t.Errorf("ran %d and waited %d of 100: stalled %d, want %d", c.ran, c.waited, got, c.want)
		}
	}
}
