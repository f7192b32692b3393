// Package sandbox runs this program again in namespaces of its own: of mounts, of
// processes and of the network. When that second process ends, in whatever way, the
// kernel ends all processes that it started, and takes away all that it mounted and all
// its networks. So there is nothing to clean up, not even after SIGKILL.
package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// marker is an environment variable that tells the second process what it is.
const marker = "SNOWRAFT_JEPSEN_SANDBOX"

// Inside reports whether this process runs in a sandbox.
func Inside() bool { return os.Getpid() == 1 && os.Getenv(marker) != "" }

// said is what exit codes inside begin with that are meant: a panic ends with 2.
const said = 64

// Said is the exit code inside that stands for this one, of 0 to 63.
func Said(code int) int { return said + code }

// Run runs a program, this one or another build of it, with the same arguments and files in a sandbox, and returns the
// exit code that it has [Said]; any other end is an error. Signals to end are passed on;
// when this process is killed, so is all in the sandbox.
func Run(program string) (int, error) {
	// The kernel kills the child when the thread that started it ends.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()

	cmd := exec.CommandContext(context.Background(), program, os.Args[1:]...)
	cmd.Env = append(os.Environ(), marker+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET,
		Pdeathsig:  syscall.SIGKILL,
		// Not in the terminal's foreground group: Ctrl-C comes once, from here.
		Setpgid: true,
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	if err := cmd.Start(); err != nil {
		return 0, fmt.Errorf("namespaces for mounts, processes and networks (this needs root): %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case s := <-signals:
			_ = cmd.Process.Signal(s) // it may just have ended
		case err := <-ended:
			if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() >= said {
				return exit.ExitCode() - said, nil
			}
			return 0, fmt.Errorf("the process in the sandbox ended before it had come to a verdict: %w", cmp.Or(err, errors.New("exit status 0")))
		}
	}
}

// Settle makes the sandbox usable; call it first thing inside.
func Settle() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("private mounts: %w", err)
	}
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("/proc: %w", err)
	}
	// What is started inside is in no sandbox of its own.
	return os.Unsetenv(marker)
}
