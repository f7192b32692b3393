// Package bubble runs tests in synthetic time. Only tests import it.
package bubble

import (
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

const (
	beat = 100 * time.Millisecond // interval of the signs of life of a bubble, in its own time
	// limit is the time that a test may take, in its own time.
	limit = time.Hour
	// rest is the time for which a bubble outlives its test. Goroutines of memberlist and gRPC end that long after their owners.
	rest = time.Minute
)

// someDay is the time at which bubbles begin. The first day of synctest is before the layouts' epochs.
var someDay = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)

// Test runs a test in a bubble of testing/synctest. The process panics with the stacks of all goroutines if the time of the
// bubble stands still because a goroutine waits for something outside the bubble, or for a mutex whose holder waits. The time limit
// of go test ends a goroutine that never waits.
func Test(t *testing.T, test func(*testing.T)) {
	t.Helper()
	var dog watchdog
	ended := make(chan struct{})
	defer close(ended)
	go dog.watch(t.Name(), interval, ended)
	synctest.Test(t, func(t *testing.T) {
		dog.bubble.Store(thisBubble())
		time.Sleep(time.Until(someDay))
		over := make(chan struct{})
		go count(t.Name(), &dog.beats, over)
		t.Cleanup(func() {
			time.Sleep(rest)
			close(over)
		})
		test(t)
	})
}

// count counts the beats of a bubble until it is over.
func count(name string, beats *atomic.Int64, over <-chan struct{}) {
	tick := time.NewTicker(beat)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if beats.Add(1) > int64(limit/beat) {
				die(fmt.Sprintf("%s has not ended after %v of its own time", name, limit))
			}
		case <-over:
			return
		}
	}
}

func die(why string) {
	debug.SetTraceback("all")
	panic(why)
}
