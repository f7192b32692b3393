//go:build linux && amd64

package skew

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Start starts cmd, as [exec.Cmd.Start] does, with a clock that differs from the
// machine's by offset from the first instruction. A positive offset is ahead; the
// maximum is 100 years. The caller waits for cmd and closes the clock, in any order.
//
// Start runs on the calling goroutine's thread, so the process inherits the namespaces
// that the thread has entered. /proc must be that of the thread's PID namespace. If
// cmd's SysProcAttr has a Pdeathsig, the caller must keep the thread as usual. A process
// that may receive signals before it runs, such as Ctrl-C, needs its own process group
// (Setpgid): a signal just before the exec would stop the process, and Start would wait
// forever.
//
// After an error no process is left, and cmd cannot be used again. If this process dies
// during Start, the kernel kills the new one.
func Start(cmd *exec.Cmd, offset time.Duration) (*Clock, error) { return start(cmd, offset, 0) }

// start does what Start does. The process gets a signal before its first instruction; 0 for none.
func start(cmd *exec.Cmd, offset time.Duration, s unix.Signal) (*Clock, error) {
	if err := checkOffset(offset); err != nil {
		return nil, err
	}
	// Only the tracing thread may control the process, and that is the thread that forks.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()

	given := cmd.SysProcAttr
	var traced syscall.SysProcAttr
	if given != nil {
		traced = *given
	}
	traced.Ptrace = true
	cmd.SysProcAttr = &traced
	err := cmd.Start()
	cmd.SysProcAttr = given
	if err != nil {
		return nil, err
	}
	c, err := give(cmd.Process.Pid, offset, s)
	if err != nil {
		end(cmd)
		return nil, fmt.Errorf("install the clock of %s: %w", cmd.Path, err)
	}
	return c, nil
}

// end kills a command, unless it has exited, and waits for its exit.
func end(cmd *exec.Cmd) {
	_ = cmd.Process.Kill()    // fails if the process has exited
	_, _ = cmd.Process.Wait() // reports only the kill
	// Wait also waits for the goroutine that copies the input, which may never return.
	go func() { _ = cmd.Wait() }()
}

// give installs a clock in the new process, which stops after the exec of its program,
// and lets the process run with a signal.
func give(pid int, offset time.Duration, s unix.Signal) (*Clock, error) {
	if err := awaitExec(pid); err != nil {
		return nil, err
	}
	if err := unix.PtraceSetOptions(pid, unix.PTRACE_O_EXITKILL); err != nil {
		return nil, fmt.Errorf("ptrace: %w", err)
	}
	c, err := openClock(pid)
	if err != nil {
		return nil, err
	}
	if err = c.install(pid); err == nil {
		err = c.Set(offset)
	}
	if err == nil {
		if err = ptrace(unix.PTRACE_DETACH, pid, uintptr(s)); err != nil {
			err = fmt.Errorf("ptrace: %w", err)
		}
	}
	if err != nil {
		_ = c.Close() // the earlier error is returned
		return nil, err
	}
	return c, nil
}

// openClock returns the clock of a process, which has no cells yet.
func openClock(pid int) (*Clock, error) {
	memory, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", pid), os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	return &Clock{memory: memory}, nil
}

// awaitExec waits until the process has executed its program and has stopped before the
// first instruction. If the process exits instead, awaitExec reaps it and returns an error.
func awaitExec(pid int) error {
	var status unix.WaitStatus
	for {
		_, err := unix.Wait4(pid, &status, 0, nil)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		switch {
		case err != nil:
			return fmt.Errorf("wait for the stop after exec: %w", err)
		case status.Exited():
			return fmt.Errorf("process exited before its first instruction with exit code %d", status.ExitStatus())
		case status.Signaled():
			return fmt.Errorf("process died before its first instruction (signal: %v)", status.Signal())
		case status.Stopped() && status.StopSignal() == unix.SIGTRAP:
			return nil
		}
		return fmt.Errorf("process stopped before its first instruction (signal: %v)", status.StopSignal())
	}
}

// install writes the replacements into the vDSO of a stopped process.
func (c *Clock) install(pid int) error {
	base, size, err := mapped(pid)
	if err != nil {
		return err
	}
	image := make([]byte, size)
	if _, err := c.memory.ReadAt(image, int64(base)); err != nil {
		return fmt.Errorf("read the vDSO: %w", err)
	}
	v, err := parse(image)
	if err != nil {
		return err
	}
	patches, cells, err := v.replace(base)
	if err != nil {
		return err
	}
	c.base, c.cells = int64(base), int64(cells)
	for _, p := range patches {
		if err := c.write(p.bytes, int64(base+p.at)-c.cells); err != nil {
			return err
		}
		copy(image[p.at:], p.bytes)
	}
	written := make([]byte, size)
	if _, err := c.memory.ReadAt(written, int64(base)); err != nil || !bytes.Equal(written, image) {
		return fmt.Errorf("content of the vDSO differs from the written bytes: %w", errors.Join(err, unix.EIO))
	}
	return nil
}
