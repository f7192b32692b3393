package deadline

import (
	"errors"
	"math"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Clock is the clock of this machine, with a judge of it. Its methods are for one goroutine.
type Clock struct {
	Judge

	timer *os.File // rings only after a step of the clock
	raw   syscall.RawConn
	steps chan struct{}
}

// Watch begins to watch the clock.
func Watch() (*Clock, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_REALTIME, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK)
	if err != nil {
		return nil, err
	}
	c := &Clock{timer: os.NewFile(uintptr(fd), "timerfd"), steps: make(chan struct{}, 1)}
	never := unix.ItimerSpec{Value: unix.Timespec{Sec: math.MaxInt32 * 4}}
	err = unix.TimerfdSettime(fd, unix.TFD_TIMER_ABSTIME|unix.TFD_TIMER_CANCEL_ON_SET, &never, nil)
	if err == nil {
		c.raw, err = c.timer.SyscallConn()
	}
	if err != nil {
		_ = c.timer.Close()
		return nil, err
	}
	go c.wake()
	return c, nil
}

// Close ends the watch.
func (c *Clock) Close() { _ = c.timer.Close() }

// Steps returns a channel that gets an element after each step of the clock.
func (c *Clock) Steps() <-chan struct{} { return c.steps }

// wake waits for steps until Close. It leaves them in the timer, for [Clock.set].
func (c *Clock) wake() {
	for {
		first := true
		if c.raw.Read(func(uintptr) (ready bool) { ready, first = !first, false; return ready }) != nil {
			return
		}
		select {
		case c.steps <- struct{}{}:
		default:
		}
	}
}

// set reports whether the clock was set since the last call. The kernel notes each step, even one that another step undoes.
func (c *Clock) set() (yes bool) {
	_ = c.raw.Control(func(fd uintptr) {
		_, err := unix.Read(int(fd), make([]byte, 8))
		yes = errors.Is(err, unix.ECANCELED)
	})
	return yes
}

// Verdict returns the verdict now, with the reason for Stop and Kill.
func (c *Clock) Verdict(rules Rules) (Verdict, string) {
	set := c.set()
	r := Now()
	for c.set() { // between the reading and the step
		set, r = true, Now()
	}
	r.Set = set
	return c.Judge.Judge(r, rules)
}

// Now reads the clock of the machine. A process that waits for a processor between the two clocks reads them again.
func Now() Reading {
	best, narrowest := Reading{}, time.Duration(math.MaxInt64)
	for range 100 {
		before, wall, after := sinceBoot(), time.Duration(time.Now().UnixNano()), sinceBoot()
		if width := after - before; width < narrowest {
			best, narrowest = Reading{Wall: wall, Mono: before}, width
		}
		if narrowest < noise/4 {
			break
		}
	}
	return best
}

func sinceBoot() time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &t) // never fails
	return time.Duration(t.Nano())
}
