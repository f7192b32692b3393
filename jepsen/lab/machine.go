//go:build linux

package lab

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/snowraft/snowraft/internal/test/schedstat"
	"github.com/snowraft/snowraft/jepsen/history"
	"github.com/snowraft/snowraft/jepsen/network"
	"github.com/snowraft/snowraft/jepsen/skew"
)

// machine is a host with its own clock, and the one process that may run on the host. Its methods may be called from any
// goroutine.
type machine struct {
	Name   string
	Host   *network.Host
	Family bool // the descendants of a process have the machine's clock too

	lab       *Lab
	generator bool // true if the processes are embedded generators

	mu     sync.Mutex // held while a process starts or its files are copied; guards offset
	offset time.Duration

	state    sync.Mutex // guards the fields below; may be locked while mu is held
	proc     *process
	keep     bool // restart the process after an unexpected exit
	fails    int  // number of unexpected exits
	reserved bool
}

// process is one start of the machine's process.
type process struct {
	start uint32
	cmd   *exec.Cmd
	clock interface {
		Set(offset time.Duration) error
	}
	wait   func() string // waits for the exit, and returns its status
	ended  chan struct{} // closed after the exit was recorded
	paused bool          // stopped by Pause
}

// Current returns the number of the running start, 0 if no process runs.
func (m *machine) Current() uint32 {
	m.state.Lock()
	defer m.state.Unlock()
	if m.proc == nil {
		return 0
	}
	return m.proc.start
}

// PID returns the ID of the running process, 0 if none runs.
func (m *machine) PID() int {
	m.state.Lock()
	defer m.state.Unlock()
	if m.proc == nil {
		return 0
	}
	return m.proc.cmd.Process.Pid
}

// Running reports whether the process runs or is paused.
func (m *machine) Running() bool { return m.Current() != 0 }

// Scheduled returns the times of the running process on the machine's processors, zero without a process.
func (m *machine) Scheduled() schedstat.Times {
	m.state.Lock()
	defer m.state.Unlock()
	if m.proc == nil {
		return schedstat.Times{}
	}
	return schedstat.Of(m.proc.cmd.Process.Pid)
}

// MostMemory returns the peak resident memory of the running process in bytes, 0 without a process.
func (m *machine) MostMemory() uint64 {
	m.state.Lock()
	defer m.state.Unlock()
	if m.proc == nil {
		return 0
	}
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", m.proc.cmd.Process.Pid)) // empty if the process has just exited
	_, after, _ := strings.Cut(string(status), "VmHWM:")
	var kilobytes uint64
	_, _ = fmt.Sscan(after, &kilobytes)
	return kilobytes << 10
}

// Reserve reserves the machine for the caller until release is called. Callers that start, stop or damage a machine reserve
// it first, so that only one of them does so at a time. Reserve returns false if the machine is reserved.
func (m *machine) Reserve() (release func(), ok bool) {
	m.state.Lock()
	defer m.state.Unlock()
	if m.reserved {
		return nil, false
	}
	m.reserved = true
	return sync.OnceFunc(func() {
		m.state.Lock()
		defer m.state.Unlock()
		m.reserved = false
	}), true
}

// run starts a process. It requires m.mu held and no running process. ended is called after the process's exit was
// recorded.
func (m *machine) run(start uint32, cmd *exec.Cmd, ended func()) error {
	p := &process{start: start, cmd: cmd, ended: make(chan struct{})}
	at := history.Now()
	err := m.Host.Do(func() error { return p.begin(m.Family, m.offset) })
	if err != nil {
		return fmt.Errorf("%s: %w", m.Name, err)
	}
	m.state.Lock()
	m.proc = p
	m.state.Unlock()
	m.lab.cfg.Journal.Add(history.Line{Process: &history.Process{
		Start: start, Member: m.Name, Generator: m.generator, PID: cmd.Process.Pid, At: at, Binary: cmd.Path,
	}})
	go m.watch(p, ended)
	return nil
}

// begin starts a process with a clock, alone or together with its descendants.
func (p *process) begin(family bool, offset time.Duration) error {
	if family {
		f, err := skew.StartFamily(p.cmd, offset)
		if err == nil {
			p.clock, p.wait = f, f.Wait
		}
		return err
	}
	c, err := skew.Start(p.cmd, offset)
	if err == nil {
		p.clock, p.wait = c, func() string {
			_ = p.cmd.Wait() // ProcessState has the outcome
			_ = c.Close()
			return p.cmd.ProcessState.String()
		}
	}
	return err
}

// watch waits until a process exits and records the exit. Each process has its own goroutine for watch.
func (m *machine) watch(p *process, ended func()) {
	exit := p.wait()
	m.lab.cfg.Journal.Add(history.Line{Process: &history.Process{
		Start: p.start, Member: m.Name, Generator: m.generator, PID: p.cmd.Process.Pid, At: history.Now(),
		Ended: true, Exit: exit,
	}})
	m.state.Lock()
	m.proc = nil
	if m.keep {
		m.fails++
	}
	m.state.Unlock()
	close(p.ended)
	ended()
}

// signal sends a signal and returns the process that received it, nil if none runs.
func (m *machine) signal(s syscall.Signal) *process {
	m.state.Lock()
	defer m.state.Unlock()
	if m.proc == nil {
		return nil
	}
	_ = m.proc.cmd.Process.Signal(s) // fails if the process has just exited
	return m.proc
}

// Expire turns off restarts of the process after an unexpected exit.
func (m *machine) Expire() {
	m.state.Lock()
	defer m.state.Unlock()
	m.keep = false
}

// kept reports whether an exited process must be restarted.
func (m *machine) kept() bool {
	m.state.Lock()
	defer m.state.Unlock()
	return m.keep
}

// Kill sends SIGKILL and waits until the process has exited. The process stays down.
func (m *machine) Kill() {
	m.Expire()
	if p := m.signal(syscall.SIGKILL); p != nil {
		<-p.ended
	}
}

// Crash sends SIGKILL and does not wait. The process stays down.
func (m *machine) Crash() {
	m.Expire()
	m.signal(syscall.SIGKILL)
}

// Failures returns the number of unexpected exits of the process.
func (m *machine) Failures() int {
	m.state.Lock()
	defer m.state.Unlock()
	return m.fails
}

// Stop sends SIGTERM, and kills the process if it has not exited within limit. The process stays down.
func (m *machine) Stop(limit time.Duration) {
	m.Expire()
	p := m.signal(syscall.SIGTERM)
	if p == nil {
		return
	}
	wait := time.NewTimer(limit)
	defer wait.Stop()
	select {
	case <-p.ended:
	case <-wait.C:
		m.Kill()
	}
}

// Pause stops the process with SIGSTOP, until Continue is called.
func (m *machine) Pause() { m.pause(true, syscall.SIGSTOP) }

// Continue resumes a paused process.
func (m *machine) Continue() { m.pause(false, syscall.SIGCONT) }

func (m *machine) pause(paused bool, s syscall.Signal) {
	m.state.Lock()
	defer m.state.Unlock()
	if m.proc != nil {
		m.proc.paused = paused
		_ = m.proc.cmd.Process.Signal(s) // fails if the process has just exited
	}
}

// Skew sets the offset of the machine's clock, for the running process and for later starts.
func (m *machine) Skew(offset time.Duration) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.offset = offset
	m.state.Lock()
	defer m.state.Unlock()
	if m.proc == nil {
		return nil
	}
	err := m.proc.clock.Set(offset)
	if errors.Is(err, os.ErrProcessDone) || errors.Is(err, os.ErrClosed) { // the process has just exited
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", m.Name, err)
	}
	return nil
}

// Offset returns the offset of the machine's clock.
func (m *machine) Offset() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.offset
}
