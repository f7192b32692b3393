package fsm

import (
	"fmt"
	"testing"

	"github.com/snowraft/snowraft/snowflake"
)

// A process that crashes repeatedly, and is started under the same name each time, does not use
// up the workers of its layout: it acquires those of its own workers again whose windows have
// passed.
func TestCrashLoop(t *testing.T) {
	const window = 2000 // ms, as slow start begins
	for _, tc := range []struct {
		every  int64 // ms
		stable int64 // the window in ms that it had before its troubles
		want   int   // workers
	}{
		{every: 5000, stable: window, want: 1},
		{every: 2000, stable: window, want: 1},
		{every: 1000, stable: window, want: 2},
		{every: 10, stable: window, want: 200},
		{every: 1000, stable: 600_000, want: 3},
		{every: 2000, stable: 600_000, want: 2},
	} {
		t.Run(fmt.Sprintf("every %d ms after a window of %d ms", tc.every, tc.stable), func(t *testing.T) {
			l := newLog(t, wide)
			l.must(at(epoch, acquireWide("other/0", window))) // whose worker stays its own
			used := map[uint64]bool{}
			for now, length := epoch, tc.stable; now < epoch+1000*tc.every; now, length = now+tc.every, window {
				used[l.must(at(now, acquireWide("loop/0", length))).Grant.Worker] = true
			}
			if len(used) != tc.want {
				t.Errorf("1,000 restarts used %d of 1,024 workers, want %d", len(used), tc.want)
			}
			if g := l.must(at(epoch+1_000_000_000, acquireWide("other/0", window))).Grant; g.Worker != 0 {
				t.Errorf("an uninvolved holder lost its worker and got %d", g.Worker)
			}
		})
	}
}

// After the loop, the process gets the worker that it had last.
func TestCrashLoopEnds(t *testing.T) {
	l := newLog(t, wide)
	var last Grant
	for i := range int64(10) {
		last = l.must(at(epoch+1000*i, acquireWide("loop/0", 2000))).Grant
	}
	if g := l.must(at(epoch+11_000, acquireWide("loop/0", 2000))).Grant; g.Worker != last.Worker || g.From != last.Until {
		t.Errorf("%+v after %+v", g, last)
	}
}

// If many processes share a name, pick looks at ownLooks of their workers only.
func TestHoldersOfOneName(t *testing.T) {
	for _, tc := range []struct {
		live int
		want uint64
	}{{ownLooks - 1, ownLooks - 1}, {ownLooks, ownLooks + 2}} {
		l := newLog(t, wide)
		for range tc.live {
			l.must(at(epoch, acquireWide("twin/0", 60_000)))
		}
		l.must(at(epoch, acquireWide("twin/0", 1000)))
		l.must(at(epoch, acquireWide("twin/0", 60_000)))
		if g := l.must(at(epoch+1000, acquireWide("twin/0", 1000))).Grant; g.Worker != tc.want {
			t.Errorf("with %d others it got worker %d, want %d", tc.live, g.Worker, tc.want)
		}
	}
}

// The smallest preset that issues has workers for three members and eight crashes within two minutes, although each crash leaves a
// worker behind whose window still lasts for minutes.
func TestCrashesInASmallLayout(t *testing.T) {
	preset, _ := snowflake.Preset("jssafe")
	l := newLog(t, preset.Spec())
	held := map[uint64]bool{}
	for i := range int64(3 + 8) {
		cmd := acquire(fmt.Sprint("member-", i%3, "/0"), 600_000)
		cmd.GetAcquireWorker().Layout = preset.Name()
		held[l.must(at(epoch+10_000*i, cmd)).Grant.Worker] = true
	}
	if len(held) != 3+8 {
		t.Errorf("%d workers, want one for each start", len(held))
	}
}
