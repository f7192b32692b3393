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

func TestStartSetsOffsetBeforeMain(t *testing.T) {
	for _, offset := range []time.Duration{0, 1, -1, time.Hour, -time.Hour, maxOffset, -maxOffset} {
		c := startChild(t, "first", offset)
		var r reading
		c.line(&r.before, &r.wall, &r.after)
		if !r.off(offset) {
			t.Errorf("clock before main is off by %d to %d ns, want %d", r.wall-r.after, r.wall-r.before, offset)
		}
	}
}

func TestSetChangesOnlyTheProcess(t *testing.T) {
	c := startChild(t, "read", 10*time.Minute)
	other := startChild(t, "read", 0)
	c.expect(10 * time.Minute)
	bumps := []time.Duration{0, 1, -1, maxOffset, -maxOffset}
	for d := 10 * time.Millisecond; d <= time.Hour; d *= 3 {
		bumps = append(bumps, d, -d)
	}
	for range 3000 {
		bumps = append(bumps, time.Duration(rand.Int64N(int64(2*maxOffset)))-maxOffset)
		// With this offset, the clock is close to a full second.
		bumps = append(bumps, time.Duration(second-trueClock(0)%second)-time.Duration(rand.IntN(100_000)))
	}
	for _, offset := range bumps {
		if err := c.clock.Set(offset); err != nil {
			t.Fatal(err)
		}
		if got := c.clock.Offset(); got != offset {
			t.Fatalf("Offset() = %d, want %d", got, offset)
		}
		c.expect(offset)
	}
	other.expect(0)
	if r := readWall(); !r.off(0) {
		t.Errorf("parent's clock is off by about %d ns, want 0", r.wall-r.before)
	}

	for _, offset := range []time.Duration{maxOffset + 1, -maxOffset - 1} {
		if err := c.clock.Set(offset); err == nil {
			t.Errorf("Set(%v) = nil, want an error", offset)
		}
	}
	c.expect(bumps[len(bumps)-1])
}

// TestStrobe sets a clock at least 1000 times per second, alternating between two offsets that differ in every byte.
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
		t.Errorf("%d Sets, %d readings of the first offset, %d of the second, %d of neither, %d changes",
			sets, first, last, torn, changes)
	}
}

func TestStartConcurrently(t *testing.T) {
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
					t.Errorf("reading %q, %v; want the offset %v", output.String(), err, offset)
				}
			}
		})
	}
	all.Wait()
	expectNoChildren(t)
}

func TestSetAfterExit(t *testing.T) {
	c := startChild(t, "read", time.Second)
	c.expect(time.Second)
	_ = c.ask.Close()
	_ = c.cmd.Wait()
	if err := c.clock.Set(0); !errors.Is(err, os.ErrProcessDone) || c.clock.Offset() != time.Second {
		t.Errorf("Set(0) = %v, then Offset() = %v; want ErrProcessDone and 1s", err, c.clock.Offset())
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
		t.Errorf("Set(0) = %v, want ErrClosed", err)
	}
}

// A program that the process executes has the machine's clock, and Set no longer changes it.
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
		t.Errorf("Set(1m) after exec = %v, want ErrProcessDone", err)
	}
	c.expect(0)
}

// The process has the requested attributes and the namespaces of the thread.
func TestStartKeepsAttributes(t *testing.T) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // never unlocked, so the thread exits with the goroutine
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
			t.Error("Start changed the caller's attributes")
		}
	}()
	<-done
}

func TestFailedStartLeavesNoChild(t *testing.T) {
	if _, err := Start(command(t, "read"), maxOffset+1); err == nil {
		t.Error("Start() with an offset of more than 100 years = nil error, want an error")
	}
	if _, err := Start(exec.Command("/no/such/program"), 0); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Start() of a missing program = %v, want ErrNotExist", err)
	}
	expectNoChildren(t)

	// The context kills the program at any moment of its start.
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

// expectNoChildren fails the test if this process has a child in any state.
func expectNoChildren(t *testing.T) {
	t.Helper()
	var status syscall.WaitStatus
	if pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG|syscall.WALL, nil); !errors.Is(err, syscall.ECHILD) {
		t.Errorf("wait4() = process %d with status %x, %v; want ECHILD", pid, status, err)
	}
}

// TestCost prints the duration of a reading with and without a changed clock, and checks nothing.
func TestCost(t *testing.T) {
	plain := command(t, "cost")
	output, err := plain.Output()
	if err != nil {
		t.Fatal(err)
	}
	c := startChild(t, "cost", time.Hour)
	var cost float64
	c.line(&cost)
	t.Logf("time.Now takes %s ns with the machine's clock, %.1f ns with a process's own clock",
		strings.TrimSpace(string(output)), cost)
}
