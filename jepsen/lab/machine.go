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

	"github.com/snowraft/snowraft/jepsen/history"
	"github.com/snowraft/snowraft/jepsen/network"
	"github.com/snowraft/snowraft/jepsen/skew"
)

// machine is a host, and the one process that may run on it, with a clock of its own. Its
// methods may be called from any goroutine.
type machine struct {
	Name string
	Host *network.Host

	lab       *Lab
	generator bool // its processes are embedded generators

	mu     sync.Mutex // held while a process is started or a copy is made
	offset time.Duration

	state    sync.Mutex // guards what follows; may be taken while mu is held
	proc     *process
	keep     bool // start it again when it exits unasked
	fails    int  // how often it exited unasked
	reserved bool
}

// process is one start.
type process struct {
	start  uint32
	cmd    *exec.Cmd
	clock  *skew.Clock
	ended  chan struct{} // closed after its end was noted
	paused bool          // by Pause
}

// Current is the number of the start that runs, 0 if none does.
func (m *machine) Current() uint32 {
	m.state.Lock()
	defer m.state.Unlock()
	if m.proc == nil {
		return 0
	}
	return m.proc.start
}

// Running reports whether its process runs, or is paused.
func (m *machine) Running() bool { return m.Current() != 0 }

// MostMemory is the most resident memory that the process that runs ever had, in bytes; 0 without a process.
func (m *machine) MostMemory() uint64 {
	m.state.Lock()
	defer m.state.Unlock()
	if m.proc == nil {
		return 0
	}
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", m.proc.cmd.Process.Pid)) // empty if it has just ended
	_, after, _ := strings.Cut(string(status), "VmHWM:")
	var kilobytes uint64
	_, _ = fmt.Sscan(after, &kilobytes)
	return kilobytes << 10
}

// Reserve makes the machine the caller's: nobody else who reserves what he starts, ends or
// breaks for a while gets it until it is released. It reports false if somebody has it.
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

// run starts a process; mu is held, and none runs. ended is called after its end was noted.
func (m *machine) run(start uint32, cmd *exec.Cmd, ended func()) error {
	p := &process{start: start, cmd: cmd, ended: make(chan struct{})}
	at := history.Now()
	err := m.Host.Do(func() (err error) {
		p.clock, err = skew.Start(cmd, m.offset)
		return err
	})
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

// watch waits for the end of a process and notes it. It is a goroutine of its own for
// each process.
func (m *machine) watch(p *process, ended func()) {
	_ = p.cmd.Wait() // the state says it
	_ = p.clock.Close()
	m.lab.cfg.Journal.Add(history.Line{Process: &history.Process{
		Start: p.start, Member: m.Name, Generator: m.generator, PID: p.cmd.Process.Pid, At: history.Now(),
		Ended: true, Exit: p.cmd.ProcessState.String(),
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

// signal sends a signal; it returns the process that got it, nil if there is none.
func (m *machine) signal(s syscall.Signal) *process {
	m.state.Lock()
	defer m.state.Unlock()
	if m.proc == nil {
		return nil
	}
	_ = m.proc.cmd.Process.Signal(s) // it may just have ended
	return m.proc
}

// Expire says that the process is not to be started again when it exits unasked.
func (m *machine) Expire() {
	m.state.Lock()
	defer m.state.Unlock()
	m.keep = false
}

// kept reports whether a process that ended is to be started again.
func (m *machine) kept() bool {
	m.state.Lock()
	defer m.state.Unlock()
	return m.keep
}

// Kill ends the process with SIGKILL and waits until it is gone. It stays down.
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

// Failures is the number of times that its process has ended by itself.
func (m *machine) Failures() int {
	m.state.Lock()
	defer m.state.Unlock()
	return m.fails
}

// Stop asks the process to end, and kills it if it has not after limit. It stays down.
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

// Pause stops the process where it is; Continue lets it go on.
func (m *machine) Pause() { m.pause(true, syscall.SIGSTOP) }

// Continue lets a paused process go on.
func (m *machine) Continue() { m.pause(false, syscall.SIGCONT) }

func (m *machine) pause(paused bool, s syscall.Signal) {
	m.state.Lock()
	defer m.state.Unlock()
	if m.proc != nil {
		m.proc.paused = paused
		_ = m.proc.cmd.Process.Signal(s) // it may just have ended
	}
}

// Skew sets the machine's clock off by so much, now and at later starts.
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
	if errors.Is(err, os.ErrProcessDone) || errors.Is(err, os.ErrClosed) { // it has just ended
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", m.Name, err)
	}
	return nil
}

// Offset is how far its clock is off.
func (m *machine) Offset() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.offset
}
