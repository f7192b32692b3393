//go:build linux && amd64

package skew

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// traced are the options of a family's processes: new threads and children are traced too, each stops after an exec, and
// all die with the tracer.
const traced = unix.PTRACE_O_EXITKILL | unix.PTRACE_O_TRACECLONE | unix.PTRACE_O_TRACEFORK | unix.PTRACE_O_TRACEVFORK | unix.PTRACE_O_TRACEEXEC

// Family is a process and its descendants, which have one wall clock. Its methods may be called from any goroutine.
type Family struct {
	first int           // ID of the first process
	exit  chan struct{} // closed when the first process has exited
	how   unix.WaitStatus
	cells int64 // offset of the cells in the vDSO

	// The tracer's thread only. A new process or thread may stop before the stop of its parent shows it. It is held until then, because
	// a fork must have the clock before it runs.
	shown map[int]bool
	held  map[int]unix.WaitStatus

	mu     sync.Mutex
	offset time.Duration
	clocks map[int]*Clock // keyed by process ID
	failed error          // reason why a process could not get the clock
}

// StartFamily starts cmd as [Start] does. Each program that the process or a descendant executes has the clock too, in any
// namespace. A thread of this process traces them all until they have exited. Wait waits for cmd, instead of cmd.Wait.
func StartFamily(cmd *exec.Cmd, offset time.Duration) (*Family, error) {
	c, err := start(cmd, offset, unix.SIGSTOP)
	if err != nil {
		return nil, err
	}
	pid := cmd.Process.Pid
	f := &Family{
		first: pid, exit: make(chan struct{}), cells: c.cells - c.base, offset: offset, clocks: map[int]*Clock{pid: c},
		shown: map[int]bool{pid: true}, held: make(map[int]unix.WaitStatus),
	}
	seized := make(chan error)
	go f.trace(seized)
	if err := <-seized; err != nil {
		_ = c.Close()
		end(cmd)
		return nil, fmt.Errorf("trace %s: %w", cmd.Path, err)
	}
	return f, nil
}

// Set sets the offset of the clock, see [Clock.Set]. It writes to the processes one after the other, within microseconds unless this
// process must wait for a processor. It fails if a process could not get the clock, which was killed then.
func (f *Family) Set(offset time.Duration) error {
	if err := checkOffset(offset); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.offset = offset
	err := f.failed
	for _, c := range f.clocks {
		if failed := c.Set(offset); failed != nil && !errors.Is(failed, os.ErrProcessDone) { // exited, or about to execute a program
			err = errors.Join(err, failed)
		}
	}
	return err
}

// Wait waits for the first process and returns how it exited, as [os.ProcessState.String] does.
func (f *Family) Wait() string {
	<-f.exit
	if f.how.Signaled() {
		return "signal: " + f.how.Signal().String()
	}
	return fmt.Sprintf("exit status %d", f.how.ExitStatus())
}

// trace resumes the stopped processes until none is left. The thread ends with it.
func (f *Family) trace(seized chan<- error) {
	runtime.LockOSThread()
	err := ptrace(unix.PTRACE_SEIZE, f.first, traced)
	seized <- err
	if err != nil {
		return
	}
	_ = unix.Kill(f.first, unix.SIGCONT) // stopped since its exec
	for {
		// With these flags, only the tracer's own tracees count. WCLONE excludes its untraced children, of which others wait for the exit.
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, unix.WCLONE|unix.WNOTHREAD, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return // ECHILD
		case status.Stopped():
			f.resume(pid, status)
		default:
			f.exited(pid, status)
		}
	}
}

// resume gives a process the clock if it needs one, and lets it run. A process that a signal stopped stays stopped.
func (f *Family) resume(pid int, status unix.WaitStatus) {
	signal := status.StopSignal()
	switch event := int(status >> 16); event {
	case 0: // a signal to pass on
		_ = unix.PtraceCont(pid, int(signal)) // fails if the process has been killed
		return
	case unix.PTRACE_EVENT_STOP:
		if !f.shown[pid] {
			f.held[pid] = status
			return
		}
		if signal != unix.SIGTRAP {
			_ = ptrace(unix.PTRACE_LISTEN, pid, 0)
			return
		}
	case unix.PTRACE_EVENT_EXEC:
		f.give(pid, (*Clock).install)
	case unix.PTRACE_EVENT_FORK, unix.PTRACE_EVENT_VFORK, unix.PTRACE_EVENT_CLONE:
		if message, err := unix.PtraceGetEventMsg(pid); err == nil {
			f.show(int(message), event == unix.PTRACE_EVENT_FORK)
		}
	}
	_ = unix.PtraceCont(pid, 0)
}

// show notes a new process or thread. A copy of its parent's memory has cells of its own.
func (f *Family) show(pid int, copied bool) {
	if copied {
		f.give(pid, f.inherit)
	}
	f.shown[pid] = true
	if status, ok := f.held[pid]; ok {
		delete(f.held, pid)
		f.resume(pid, status)
	}
}

// give gives a stopped process a clock. If that fails, it kills the process.
func (f *Family) give(pid int, install func(*Clock, int) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c, err := openClock(pid)
	if err == nil {
		if err = install(c, pid); err == nil {
			err = c.Set(f.offset)
		}
		if err != nil {
			_ = c.Close()
		}
	}
	if err == nil {
		f.forget(pid)
		f.clocks[pid] = c
		return
	}
	if auxv, _ := os.ReadFile(fmt.Sprintf("/proc/%d/auxv", pid)); len(auxv) == 0 {
		return // killed meanwhile
	}
	_ = unix.Kill(pid, unix.SIGKILL)
	f.failed = errors.Join(f.failed, fmt.Errorf("install the clock of process %d: %w", pid, err))
}

// inherit finds the cells that a process has from its parent.
func (f *Family) inherit(c *Clock, pid int) error {
	base, _, err := mapped(pid)
	if err != nil {
		return err
	}
	turn := make([]byte, 1)
	c.cells = int64(base) + f.cells
	_, err = c.memory.ReadAt(turn, c.cells+generation)
	c.turn = turn[0]
	return err
}

// exited notes the exit of a process or a thread.
func (f *Family) exited(pid int, status unix.WaitStatus) {
	delete(f.shown, pid)
	delete(f.held, pid)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.forget(pid)
	if pid == f.first {
		f.how = status
		close(f.exit)
	}
}

// forget closes the clock of a process. Requires f.mu held.
func (f *Family) forget(pid int) {
	if c := f.clocks[pid]; c != nil {
		_ = c.Close()
		delete(f.clocks, pid)
	}
}

// ptrace makes a request of the calling thread about a process.
func ptrace(request, pid int, data uintptr) error {
	if _, _, e := unix.RawSyscall6(unix.SYS_PTRACE, uintptr(request), uintptr(pid), 0, data, 0, 0); e != 0 {
		return e
	}
	return nil
}
