//go:build root && linux && amd64

package skew

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

func TestCheck(t *testing.T) {
	if err := Check(); err != nil {
		t.Fatal(err)
	}
}

func TestClockIsOffFromTheStart(t *testing.T) {
	for _, offset := range []time.Duration{0, 1, -1, time.Hour, -time.Hour, maxOffset, -maxOffset} {
		c := startChild(t, "first", offset)
		var r reading
		c.line(&r.before, &r.wall, &r.after)
		if !r.off(offset) {
			t.Errorf("before main, the clock is off by %d to %d ns, and not by %d", r.wall-r.after, r.wall-r.before, offset)
		}
	}
}

func TestClockIsSet(t *testing.T) {
	c := startChild(t, "read", 10*time.Minute)
	other := startChild(t, "read", 0)
	c.expect(10 * time.Minute)
	bumps := []time.Duration{0, 1, -1, maxOffset, -maxOffset}
	for d := 10 * time.Millisecond; d <= time.Hour; d *= 3 {
		bumps = append(bumps, d, -d)
	}
	for range 3000 {
		bumps = append(bumps, time.Duration(rand.Int64N(int64(2*maxOffset)))-maxOffset)
		// With this one, the clock's nanoseconds are about to end, or have just begun.
		bumps = append(bumps, time.Duration(second-trueClock(0)%second)-time.Duration(rand.IntN(100_000)))
	}
	for _, offset := range bumps {
		if err := c.clock.Set(offset); err != nil {
			t.Fatal(err)
		}
		if got := c.clock.Offset(); got != offset {
			t.Fatalf("the offset is %d, not %d", got, offset)
		}
		c.expect(offset)
	}
	other.expect(0)
	if r := readWall(); !r.off(0) {
		t.Errorf("the parent's clock is off by about %d ns", r.wall-r.before)
	}

	for _, offset := range []time.Duration{maxOffset + 1, -maxOffset - 1} {
		if err := c.clock.Set(offset); err == nil {
			t.Errorf("off by %v", offset)
		}
	}
	c.expect(bumps[len(bumps)-1])
}

// TestStrobe sets a clock at least 1000 times per second, to offsets of which every byte differs.
func TestStrobe(t *testing.T) {
	c := startChild(t, "strobe", strobed[0])
	began, sets := time.Now(), 0
	for ; time.Since(began) < 2*time.Second; sets++ {
		if err := c.clock.Set(strobed[sets&1]); err != nil {
			t.Fatal(err)
		}
	}
	_ = c.ask.Close()
	var first, last, torn, changes int
	c.line(&first, &last, &torn, &changes)
	t.Logf("%d Sets, %d readings, %d changes seen", sets, first+last, changes)
	if sets < 2000 || first == 0 || last == 0 || changes < 1000 || torn > 0 {
		t.Errorf("%d Sets, %d readings of the one offset and %d of the other, %d of neither, %d changes", sets, first, last, torn, changes)
	}
}

func TestManyAtTheSameTime(t *testing.T) {
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for j := range 10 {
				offset := time.Duration(i*100+j) * time.Second
				cmd := command(t, "first")
				var output strings.Builder
				cmd.Stdout = &output
				c, err := Start(cmd, offset)
				if err != nil {
					t.Error(err)
					return
				}
				var r reading
				if err := errors.Join(cmd.Wait(), c.Close()); err != nil {
					t.Error(err)
				} else if _, err := fmt.Sscan(output.String(), &r.before, &r.wall, &r.after); err != nil || !r.off(offset) {
					t.Errorf("off by %v: %q, %v", offset, output.String(), err)
				}
			}
		})
	}
	all.Wait()
	expectNoChildren(t)
}

func TestSetAfterTheEnd(t *testing.T) {
	c := startChild(t, "read", time.Second)
	c.expect(time.Second)
	_ = c.ask.Close()
	_ = c.cmd.Wait()
	if err := c.clock.Set(0); !errors.Is(err, os.ErrProcessDone) || c.clock.Offset() != time.Second {
		t.Errorf("%v; the offset is %v", err, c.clock.Offset())
	}
}

func TestSetAfterClose(t *testing.T) {
	cmd := exec.Command("true")
	c, err := Start(cmd, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(c.Close(), cmd.Wait()); err != nil {
		t.Error(err)
	}
	if err := c.Set(0); !errors.Is(err, os.ErrClosed) {
		t.Error(err)
	}
}

// TestSetAfterExec: the program that a process executes has the machine's clock, and nothing reaches it anymore.
func TestSetAfterExec(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-c", `exec "$0"`, program)
	cmd.Env = append(os.Environ(), stage+"=read")
	c := startCommand(t, cmd, time.Hour)
	c.expect(0)
	if err := c.clock.Set(time.Minute); !errors.Is(err, os.ErrProcessDone) {
		t.Error(err)
	}
	c.expect(0)
}

// TestAttributesOfTheProcess: those that were requested hold, and it is in the thread's namespaces.
func TestAttributesOfTheProcess(t *testing.T) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // and never unlocks: the thread ends with the goroutine
		if err := syscall.Unshare(syscall.CLONE_NEWNET); err != nil {
			t.Error(err)
			return
		}
		own, err := os.Readlink(fmt.Sprintf("/proc/self/task/%d/ns/net", syscall.Gettid()))
		if err != nil {
			t.Error(err)
			return
		}
		cmd := exec.CommandContext(t.Context(), "sh", "-c", "readlink /proc/self/ns/net; cut -d' ' -f5 /proc/$$/stat")
		given := &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
		cmd.SysProcAttr = given
		var output strings.Builder
		cmd.Stdout = &output
		c, err := Start(cmd, time.Hour)
		if err != nil {
			t.Error(err)
			return
		}
		if err := errors.Join(cmd.Wait(), c.Close()); err != nil {
			t.Error(err)
		}
		if got, want := strings.Fields(output.String()), []string{own, strconv.Itoa(cmd.Process.Pid)}; !slices.Equal(got, want) {
			t.Errorf("network namespace and process group %v, want %v", got, want)
		}
		if cmd.SysProcAttr != given || given.Ptrace {
			t.Error("the attributes were changed")
		}
	}()
	<-done
}

func TestFailedStarts(t *testing.T) {
	if _, err := Start(command(t, "read"), maxOffset+1); err == nil {
		t.Error("more than 100 years")
	}
	if _, err := Start(exec.Command("/no/such/program"), 0); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no such program: %v", err)
	}
	expectNoChildren(t)

	// A program that is killed at any moment of its start: by its context, and by somebody.
	failed := 0
	for i := range 300 {
		ctx, cancel := context.WithCancel(t.Context())
		cmd := exec.CommandContext(ctx, "cat")
		input, hangs := io.Pipe()
		cmd.Stdin = input
		go func() {
			for range i * 100 {
				_ = os.Getpid()
			}
			cancel()
		}()
		c, err := Start(cmd, time.Hour)
		if err != nil {
			failed++
		} else {
			<-ctx.Done()
			_ = hangs.Close()
			_ = cmd.Wait()
			_ = c.Close()
		}
		_ = hangs.Close()
	}
	t.Logf("%d of 300 starts failed", failed)
	expectNoChildren(t)
}

// expectNoChildren fails if this process has children, in whatever state.
func expectNoChildren(t *testing.T) {
	t.Helper()
	var status syscall.WaitStatus
	if pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG|syscall.WALL, nil); !errors.Is(err, syscall.ECHILD) {
		t.Errorf("there is a child, process %d with the status %x: %v", pid, status, err)
	}
}

// TestCost prints what the clock costs; it judges nothing.
func TestCost(t *testing.T) {
	plain := command(t, "cost")
	output, err := plain.Output()
	if err != nil {
		t.Fatal(err)
	}
	c := startChild(t, "cost", time.Hour)
	var cost float64
	c.line(&cost)
	t.Logf("time.Now takes %s ns with the machine's clock, %.1f ns with one of its own", strings.TrimSpace(string(output)), cost)
}
