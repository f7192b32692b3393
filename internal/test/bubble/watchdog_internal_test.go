package bubble

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"
)

// dies returns the message with which the process would end.
func dies(t *testing.T, run func()) (why string) {
	t.Helper()
	defer func() { why, _ = recover().(string) }()
	run()
	return ""
}

// The watchdog panics while a goroutine of a bubble waits for a mutex whose holder is outside.
func TestFrozenBubbleEndsTheProcess(t *testing.T) {
	t.Parallel()
	var outside sync.Mutex
	outside.Lock()
	var dog watchdog
	began := make(chan struct{})
	go func() {
		defer outside.Unlock()
		<-began
		if why := dies(t, func() { dog.watch("TestX", time.Millisecond, nil) }); !strings.Contains(why, "TestX stands still") {
			t.Errorf("the watchdog ended with %q", why)
		}
	}()
	synctest.Test(t, func(*testing.T) {
		dog.bubble.Store(thisBubble())
		close(began)
		outside.Lock()
	})
}

// A bubble that beats is not frozen, however long its goroutines wait at the same places, nor is one in a system call.
func TestSlowBubbleIsNotFrozen(t *testing.T) {
	t.Parallel()
	var pipe [2]int
	if err := unix.Pipe(pipe[:]); err != nil {
		t.Fatal(err)
	}
	sample := func(dog *watchdog, beats int64) {
		for range 10 * samples {
			if dog.beats.Add(beats); dog.frozen() {
				t.Errorf("a bubble with %d beats between samples counts as frozen", beats)
			}
		}
	}
	begin, began := make(chan *watchdog), make(chan struct{})
	go func() {
		sample(<-begin, 1) // the bubble waits for began
		close(began)
		dog := <-begin
		sample(dog, 0) // the bubble reads
		_, _ = unix.Write(pipe[1], []byte("x"))
	}()
	synctest.Test(t, func(t *testing.T) {
		dog := new(watchdog)
		dog.bubble.Store(thisBubble())
		begin <- dog
		<-began
		begin <- dog
		if n, err := unix.Read(pipe[0], make([]byte, 1)); n != 1 {
			t.Error(err)
		}
	})
	for _, fd := range pipe {
		_ = unix.Close(fd)
	}
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
