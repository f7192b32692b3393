package bubble

import (
	"bytes"
	"fmt"
	"regexp"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync/atomic"
	"time"
)

const (
	interval = 20 * time.Second // time between the samples of a bubble, real time
	// samples is the number of equal samples after which a bubble counts as frozen.
	samples = 3
)

// watchdog looks for a bubble whose time stands still. A bubble is frozen if all its goroutines wait and none moves. A bubble with
// a goroutine that runs, is ready to run or is in a system call is slow at most.
type watchdog struct {
	beats  atomic.Int64 // beats of the bubble
	bubble atomic.Value // header of the bubble in stacks, a string; nil before the bubble begins

	beat   int64  // beats at the last sample
	stacks string // stacks of the bubble at the last sample
	equal  int    // number of equal samples, the last one included
}

// watch panics if the bubble is frozen. It returns when ended is closed.
func (w *watchdog) watch(name string, every time.Duration, ended <-chan struct{}) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if w.frozen() {
				die(fmt.Sprintf("the time of %s stands still", name))
			}
		case <-ended:
			return
		}
	}
}

// frozen takes a sample and reports whether the bubble is frozen.
func (w *watchdog) frozen() bool {
	beat, stacks := w.beats.Load(), ""
	if bubble, ok := w.bubble.Load().(string); ok && beat == w.beat {
		stacks = waiting(bubble)
	}
	if stacks == "" || stacks != w.stacks {
		w.equal = 0
	}
	w.beat, w.stacks = beat, stacks
	if stacks != "" {
		w.equal++
	}
	return w.equal == samples
}

var (
	busy    = regexp.MustCompile(`^goroutine \d+ \[(running|runnable|syscall|preempted)`)
	minutes = regexp.MustCompile(`, \d+ minutes`) // since a goroutine waits
	header  = regexp.MustCompile(`synctest bubble \d+\]`)
)

// thisBubble returns the text that the stacks of all goroutines of the caller's bubble have.
func thisBubble() string {
	own := make([]byte, 256)
	return string(header.Find(own[:runtime.Stack(own, false)]))
}

// waiting returns the stacks of all goroutines of a bubble; "" if one of them does not wait.
func waiting(bubble string) string {
	var all, of bytes.Buffer
	_ = pprof.Lookup("goroutine").WriteTo(&all, 2) // a Buffer returns no errors
	for stack := range strings.SplitSeq(all.String(), "\n\n") {
		first, _, _ := strings.Cut(stack, "\n")
		if !strings.Contains(first, bubble) {
			continue
		}
		if busy.MatchString(first) {
			return ""
		}
		of.WriteString(minutes.ReplaceAllString(stack, "") + "\n\n")
	}
	return of.String()
}
