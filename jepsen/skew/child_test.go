//go:build root && linux && amd64

package skew

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// children maps roles to the main functions of the test program as a child.
var children = map[string]func() error{
	"read": childReads, "strobe": childStrobes, "cost": childCost,
	"first": func() error {
		fmt.Fprintln(os.Stdout, atInit.before, atInit.wall, atInit.after)
		return nil
	},
}

// reading is a reading of the process's wall clock, between two readings of the machine's
// clock by the system call, which package skew does not change. All are in nanoseconds.
type reading struct{ before, wall, after int64 }

// atInit is read before the program's main function.
var atInit = readWall()

func readWall() reading {
	before := trueClock(unix.CLOCK_REALTIME)
	wall := time.Now().UnixNano()
	return reading{before, wall, trueClock(unix.CLOCK_REALTIME)}
}

// off reports whether the reading fits a clock with the offset.
func (r reading) off(offset time.Duration) bool {
	return r.wall >= r.before+int64(offset) && r.wall <= r.after+int64(offset)
}

func trueClock(clock int32) int64 {
	var now unix.Timespec
	if err := unix.ClockGettime(clock, &now); err != nil {
		panic(err)
	}
	return now.Nano()
}

// childReads answers each line of its input with three readings: of time.Now, of gettimeofday, and the time since
// the last answer by Go's clock, between the least and the greatest possible value by the machine's clock.
func childReads() error {
	lines := bufio.NewScanner(os.Stdin)
	monoBefore, last, monoAfter := trueClock(unix.CLOCK_MONOTONIC), time.Now(), trueClock(unix.CLOCK_MONOTONIC)
	for lines.Scan() {
		r := readWall()
		var tv syscall.Timeval
		before := trueClock(unix.CLOCK_REALTIME)
		if err := syscall.Gettimeofday(&tv); err != nil {
			return err
		}
		after := trueClock(unix.CLOCK_REALTIME)
		nowBefore, now, nowAfter := trueClock(unix.CLOCK_MONOTONIC), time.Now(), trueClock(unix.CLOCK_MONOTONIC)
		fmt.Fprintln(os.Stdout, r.before, r.wall, r.after, before, tv.Nano(), after, nowBefore-monoAfter, now.Sub(last).Nanoseconds(), nowAfter-monoBefore)
		monoBefore, last, monoAfter = nowBefore, now, nowAfter
	}
	return lines.Err()
}

// strobed holds the two offsets of a strobed clock. They, their seconds and their
// nanoseconds differ in every byte.
var strobed = [2]time.Duration{0x0101_0101_0101_0101, -0x0203_0203_0203_0203}

// childStrobes reads the clock until its input ends. Then it prints the number of readings with each offset of
// strobed, the number with any other offset, and the number of changes.
func childStrobes() error {
	end := make(chan error)
	go func() {
		_, err := io.Copy(io.Discard, os.Stdin)
		end <- err
	}()
	var seen [2]int
	torn, changes, last := 0, 0, -1
	for {
		for range 1000 {
			r := readWall()
			switch {
			case r.off(strobed[0]):
				seen[0]++
			case r.off(strobed[1]):
				seen[1]++
			default:
				torn++
				fmt.Fprintf(os.Stderr, "torn reading: clock is off by %d to %d ns\n", r.wall-r.after, r.wall-r.before)
			}
			which := 0
			if r.wall < r.before {
				which = 1
			}
			if which != last {
				changes++
				last = which
			}
		}
		select {
		case err := <-end:
			fmt.Fprintln(os.Stdout, seen[0], seen[1], torn, changes)
			return err
		default:
		}
	}
}

// childCost prints the nanoseconds per reading of the clock in the fastest of 2000 rounds.
func childCost() error {
	const readings = 1 << 12
	best, last := int64(1<<62), time.Time{}
	for range 2000 {
		began := trueClock(unix.CLOCK_MONOTONIC)
		for range readings {
			last = time.Now()
		}
		best = min(best, trueClock(unix.CLOCK_MONOTONIC)-began)
	}
	fmt.Fprintf(os.Stdout, "%.1f\n", float64(best)/readings)
	runtime.KeepAlive(last)
	return nil
}

// child is the test program as a child that communicates over pipes.
type child struct {
	t      *testing.T
	cmd    *exec.Cmd
	clock  *Clock
	answer *bufio.Reader
	ask    *os.File
}

// command returns a command that runs the test program in a role of children.
func command(t *testing.T, does string) *exec.Cmd {
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe")
	cmd.Env = append(os.Environ(), stage+"="+does)
	cmd.Stderr = os.Stderr
	return cmd
}

func startChild(t *testing.T, does string, offset time.Duration) *child {
	t.Helper()
	return startCommand(t, command(t, does), offset)
}

func startCommand(t *testing.T, cmd *exec.Cmd, offset time.Duration) *child {
	t.Helper()
	c := &child{t: t, cmd: cmd}
	input, ask, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.cmd.Stdin, c.ask, c.answer = input, ask, bufio.NewReader(output)
	if c.clock, err = Start(c.cmd, offset); err != nil {
		t.Fatal(err)
	}
	_ = input.Close()
	t.Cleanup(func() {
		_ = c.ask.Close()
		_ = c.cmd.Wait()
		if err := c.clock.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// line reads the child's next line into values.
func (c *child) line(values ...any) {
	c.t.Helper()
	line, err := c.answer.ReadString('\n')
	if err == nil {
		_, err = fmt.Sscan(strings.TrimSpace(line), values...)
	}
	if err != nil {
		c.t.Fatalf("line %q of the child: %v", line, err)
	}
}

// expect fails the test unless the child's wall clocks have the offset and its monotonic clock has none.
func (c *child) expect(offset time.Duration) {
	c.t.Helper()
	if _, err := c.ask.WriteString("\n"); err != nil {
		c.t.Fatal(err)
	}
	var wall, ofDay, mono reading
	c.line(&wall.before, &wall.wall, &wall.after, &ofDay.before, &ofDay.wall, &ofDay.after, &mono.before, &mono.wall, &mono.after)
	if !wall.off(offset) {
		c.t.Fatalf("time.Now is off by %d to %d ns, want %d", wall.wall-wall.after, wall.wall-wall.before, offset)
	}
	ofDay.before -= 999 // gettimeofday truncates to microseconds
	if !ofDay.off(offset) || ofDay.wall%1000 != 0 {
		c.t.Fatalf("gettimeofday is off by %d to %d ns, want %d", ofDay.wall-ofDay.after, ofDay.wall-ofDay.before, offset)
	}
	if !mono.off(0) {
		c.t.Fatalf("monotonic time between two readings is %d ns, want %d to %d", mono.wall, mono.before, mono.after)
	}
}
