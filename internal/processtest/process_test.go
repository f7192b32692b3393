//go:build process || browser || prometheus

package processtest

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// patience is the longest wait for a condition to which the product sets no limit.
const patience = 30 * time.Second

// until polls for a condition.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	within(t, patience, what, ok)
}

// stalls returns a function that returns for how long this machine has stalled: the time by which a goroutine, which wakes every
// 10 ms, woke too late. The goroutine ends with end.
func stalls() (stalled func() time.Duration, end func()) {
	const beat = 10 * time.Millisecond
	var total atomic.Int64
	over := make(chan struct{})
	go func() {
		for {
			slept := time.Now()
			select {
			case <-over:
				return
			case <-time.After(beat):
			}
			if late := time.Since(slept) - beat; late > beat {
				total.Add(int64(late))
			}
		}
	}()
	return func() time.Duration { return time.Duration(total.Load()) }, func() { close(over) }
}

// within polls for a condition that must hold after at most limit, and the time for which this machine stalls. It returns the
// duration.
func within(t *testing.T, limit time.Duration, what string, ok func() bool) time.Duration {
	t.Helper()
	stalled, end := stalls()
	defer end()
	began := time.Now()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		if time.Since(began) > limit+stalled() {
			t.Fatalf("not within %v, while this machine stalled for %v: %s", limit, stalled(), what)
		}
		<-tick.C
	}
	return time.Since(began)
}

// pass waits for d, in tests that depend on the passing of time.
func pass(t *testing.T, d time.Duration) {
	t.Helper()
	select {
	case <-time.After(d):
	case <-t.Context().Done():
	}
}

// output collects the output of a process.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// tail returns the last lines of the output, for people.
func (o *output) tail(lines int) string {
	all := strings.Split(strings.TrimRight(o.String(), "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// process is a process that a test has started. It is killed at the end of the test.
type process struct {
	t              *testing.T
	cmd            *exec.Cmd
	began          time.Time
	stdout, stderr output
	ended          chan struct{} // closed when the process has ended
}

// start starts the program under test.
func start(t *testing.T, env []string, args ...string) *process {
	t.Helper()
	return startProgram(t, program, env, args...)
}

// startProgram starts any program.
func startProgram(t *testing.T, path string, env []string, args ...string) *process {
	t.Helper()
	return startBy(t, (*exec.Cmd).Start, path, env, args...)
}

// startBy starts any program by a launcher. It removes the variables from the environment that
// the program under test could read as settings, and adds env.
func startBy(t *testing.T, launch func(*exec.Cmd) error, path string, env []string, args ...string) *process {
	t.Helper()
	p := &process{t: t, cmd: exec.Command(path, args...), ended: make(chan struct{})}
	p.cmd.Env = slices.DeleteFunc(os.Environ(), func(s string) bool { return strings.HasPrefix(s, "SNOWRAFT_") })
	p.cmd.Env = append(p.cmd.Env, env...)
	p.cmd.Dir = t.TempDir()
	p.cmd.Stdout, p.cmd.Stderr = &p.stdout, &p.stderr
	p.cmd.SysProcAttr = attributes()
	p.began = time.Now()
	if err := spawn(func() error { return launch(p.cmd) }); err != nil {
		t.Fatalf("%v: %v", args, err)
	}
	go func() {
		_ = p.cmd.Wait() // ProcessState has the exit code
		close(p.ended)
	}()
	t.Cleanup(p.kill)
	return p
}

func (p *process) signal(s syscall.Signal) {
	if err := p.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.t.Errorf("%v to process %d: %v", s, p.cmd.Process.Pid, err)
	}
}

// kill kills the process, like a power failure, and waits until it has ended.
func (p *process) kill() {
	p.signal(syscall.SIGKILL)
	<-p.ended
}

func (p *process) running() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// exit waits for the end of the process and returns its exit code; -1 if a
// signal killed it.
func (p *process) exit(limit time.Duration) int {
	p.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(limit):
		p.t.Fatalf("process %v did not exit within %v; its log:\n%s", p.cmd.Args[1:], limit, p.stderr.tail(20))
	}
	return p.cmd.ProcessState.ExitCode()
}

// alone reports whether no process of the process's group is left.
func (p *process) alone() bool {
	return errors.Is(syscall.Kill(-p.cmd.Process.Pid, 0), syscall.ESRCH)
}
