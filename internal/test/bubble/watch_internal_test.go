package bubble

import (
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// dies returns the message with which the process would end.
func dies(t *testing.T, run func()) (why string) {
	t.Helper()
	defer func() { why, _ = recover().(string) }()
	run()
	return ""
}

// The watchdog panics while the time of a bubble stands still, and not while it passes.
func TestFrozenBubbleEndsTheProcess(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // the time of this bubble takes the place of real time
		var beats atomic.Int64
		ended := make(chan struct{})
		began := time.Now()
		go func() {
			for range 200 {
				time.Sleep(30 * time.Second)
				beats.Add(1)
			}
		}()
		why := dies(t, func() { watch("TestX", &beats, ended) })
		if took := time.Since(began); !strings.Contains(why, "TestX stands still") || took < 100*time.Minute || took > 110*time.Minute {
			t.Errorf("%q after %v", why, took)
		}
		close(ended)
		watch("TestX", &beats, ended) // returns
	})
}

func TestEndlessTestEndsTheProcess(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		why := dies(t, func() { count("TestX", new(atomic.Int64), nil) })
		if took := time.Since(began); !strings.Contains(why, "TestX has not ended") || took < limit || took > limit+time.Minute {
			t.Errorf("%q after %v", why, took)
		}
	})
}
