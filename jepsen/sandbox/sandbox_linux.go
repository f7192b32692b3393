// Package sandbox runs this program again in separate namespaces for mounts, processes and the network. When that second
// process exits for any reason, the kernel kills all its descendants, and removes its mounts and its networks. No cleanup
// is necessary, even after SIGKILL. [Run] starts the second process.
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

// marker is the environment variable that marks the second process.
const marker = "SNOWRAFT_JEPSEN_SANDBOX"

// Inside reports whether this process runs in a sandbox.
func Inside() bool { return os.Getpid() == 1 && os.Getenv(marker) != "" }

// said is added to deliberate exit codes inside the sandbox, because a panic exits with code 2.
const said = 64

// Said returns the exit code inside the sandbox for an exit code of [Run], from 0 to 63.
func Said(code int) int { return said + code }

// Run runs a program in a sandbox: this program or another build of it, with the same arguments and files. It returns the
// exit code that the program passed to [Said]; any other exit is an error. Run forwards SIGINT and SIGTERM to the
// program. If this process is killed, the kernel kills all processes in the sandbox.
func Run(program string) (int, error) {
	// The kernel kills the child when the thread that started it exits.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()

	cmd := exec.CommandContext(context.Background(), program, os.Args[1:]...)
	cmd.Env = append(os.Environ(), marker+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET,
		Pdeathsig:  syscall.SIGKILL,
		// Outside of the terminal's foreground process group, the child receives Ctrl-C once: forwarded by this process.
		Setpgid: true,
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	if err := cmd.Start(); err != nil {
		return 0, fmt.Errorf("create namespaces for mounts, processes and networks (requires root): %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case s := <-signals:
			_ = cmd.Process.Signal(s) // error: process has exited
		case err := <-ended:
			if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() >= said {
				return exit.ExitCode() - said, nil
			}
			return 0, fmt.Errorf("process in the sandbox exited without a verdict: %w", cmp.Or(err, errors.New("exit status 0")))
		}
	}
}

// Settle prepares the mounts of the sandbox, which are private to it. Mounts and unmounts inside reach the processes of the
// sandbox that have a mount namespace of their own, unless these have made their mounts private. A program must call it first
// inside the sandbox.
func Settle() error {
	for _, propagation := range []uintptr{unix.MS_PRIVATE, unix.MS_SHARED} {
		if err := unix.Mount("", "/", "", unix.MS_REC|propagation, ""); err != nil {
			return fmt.Errorf("separate the mounts: %w", err)
		}
	}
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	// A child must not consider itself the first process of a sandbox.
	return os.Unsetenv(marker)
}
