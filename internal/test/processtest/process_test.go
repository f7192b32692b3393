//go:build process || browser || prometheus || redisclients || examples || databases || foreign

package processtest

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// until polls for a condition, and returns the duration.
func until(t *testing.T, what string, ok func() bool) time.Duration {
	t.Helper()
	began := time.Now()
	poll(t, ok, func() {
		if time.Since(began) > patience {
			t.Fatalf("not within %v: %s", patience, what)
		}
	})
	return time.Since(began)
}

// within polls for a condition that must hold within a promised limit, and returns the duration.
func within(t *testing.T, limit promised, what string, ok func() bool) time.Duration {
	t.Helper()
	s, began := watchStalls(t), time.Now()
	defer s.stop()
	poll(t, ok, func() {
		now := time.Now()
		if took := now.Sub(began); took > time.Duration(limit) && took > time.Duration(limit)+s.between(began, now) {
			t.Fatalf("not within %v, while this machine stalled for %v: %s", limit, s.between(began, now), what)
		}
	})
	return time.Since(began)
}

// poll calls ok every 10 ms until it returns true, and late after each time that it returns false.
func poll(t *testing.T, ok func() bool, late func()) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		late()
		<-tick.C
	}
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

// installed returns the path of a program that a test requires.
func installed(t *testing.T, name, from string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatalf("%v: install Debian's %s", err, from)
	}
	return path
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
	enter(t, p.cmd.Process.Pid)
	go func() {
		_ = p.cmd.Wait() // ProcessState has the exit code
		leave(p.cmd.Process.Pid)
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
func (p *process) exit() int {
	p.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(patience):
		p.t.Fatalf("process %v did not exit within %v; its log:\n%s", p.cmd.Args[1:], patience, p.stderr.tail(20))
	}
	return p.cmd.ProcessState.ExitCode()
}

// alone reports whether no process of the process's group is left.
func (p *process) alone() bool {
	return errors.Is(syscall.Kill(-p.cmd.Process.Pid, 0), syscall.ESRCH)
}
