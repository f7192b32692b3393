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

// Start starts cmd, as [exec.Cmd.Start] does, with a clock that is off by offset from the
// machine's from its first instruction on. Positive is ahead, 100 years are the most. The
// caller waits for cmd, and closes the clock, in any order.
//
// All of it runs on the calling goroutine's thread, so that namespaces that the thread has
// entered hold for the process; /proc must be that of the thread's PID namespace. If
// cmd's SysProcAttr has a Pdeathsig, the caller must keep the thread as usual. A process
// that may be sent signals before it runs (as by Ctrl-C) needs a group of its own, Setpgid: one that
// comes just before the program is executed would stop it, and Start with it, forever.
//
// After an error no process is left, and cmd cannot be used again. If this process dies
// meanwhile, so does the new one.
func Start(cmd *exec.Cmd, offset time.Duration) (*Clock, error) {
	if err := checkOffset(offset); err != nil {
		return nil, err
	}
	// The kernel obeys only the thread that is the tracer, which is the one that forks.
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
	c, err := give(cmd.Process.Pid, offset)
	if err != nil {
		end(cmd)
		return nil, fmt.Errorf("%s was not given a clock of its own: %w", cmd.Path, err)
	}
	return c, nil
}

// end kills a command that is stopped or has ended, and waits for its end.
func end(cmd *exec.Cmd) {
	_ = cmd.Process.Kill()    // it may have ended
	_, _ = cmd.Process.Wait() // it was killed
	// What copies its input may wait for more of that, for however long.
	go func() { _ = cmd.Wait() }()
}

// give gives a clock to the new process, which stops after having executed its program,
// and lets it run.
func give(pid int, offset time.Duration) (*Clock, error) {
	if err := awaitExec(pid); err != nil {
		return nil, err
	}
	if err := unix.PtraceSetOptions(pid, unix.PTRACE_O_EXITKILL); err != nil {
		return nil, fmt.Errorf("ptrace: %w", err)
	}
	memory, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", pid), os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	c := &Clock{memory: memory}
	if err = c.install(pid); err == nil {
		err = c.Set(offset)
	}
	if err == nil {
		if err = unix.PtraceDetach(pid); err != nil {
			err = fmt.Errorf("ptrace: %w", err)
		}
	}
	if err != nil {
		_ = memory.Close() // nothing of it is needed
		return nil, err
	}
	return c, nil
}

// awaitExec waits until the process has executed its program and has stopped before the
// first instruction. If it has ended instead, it is gone.
func awaitExec(pid int) error {
	var status unix.WaitStatus
	for {
		_, err := unix.Wait4(pid, &status, 0, nil)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		switch {
		case err != nil:
			return fmt.Errorf("waiting for it to stop: %w", err)
		case status.Exited():
			return fmt.Errorf("it ended at once, with exit code %d", status.ExitStatus())
		case status.Signaled():
			return fmt.Errorf("it ended at once, by %v", status.Signal())
		case status.Stopped() && status.StopSignal() == unix.SIGTRAP:
			return nil
		}
		return fmt.Errorf("it stopped for %v, and not for its first instruction", status.StopSignal())
	}
}

// install writes the replacement into the vDSO of a process that is stopped.
func (c *Clock) install(pid int) error {
	base, size, err := mapped(pid)
	if err != nil {
		return err
	}
	image := make([]byte, size)
	if _, err := c.memory.ReadAt(image, int64(base)); err != nil {
		return fmt.Errorf("reading the vDSO: %w", err)
	}
	v, err := parse(image)
	if err != nil {
		return err
	}
	patches, cells, err := v.replace(base)
	if err != nil {
		return err
	}
	c.cells = int64(cells)
	for _, p := range patches {
		if err := c.write(p.bytes, int64(base+p.at)-c.cells); err != nil {
			return err
		}
		copy(image[p.at:], p.bytes)
	}
	written := make([]byte, size)
	if _, err := c.memory.ReadAt(written, int64(base)); err != nil || !bytes.Equal(written, image) {
		return fmt.Errorf("the vDSO does not hold what was written to it (%w)", errors.Join(err, unix.EIO))
	}
	return nil
}
