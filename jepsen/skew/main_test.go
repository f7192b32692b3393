//go:build root && linux && amd64

package skew

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// stage is the environment variable with the role of this process: empty outside of the
// namespaces of the tests, "inside" in them, or a key of children.
const stage = "SKEW_TEST_STAGE"

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	switch what := os.Getenv(stage); what {
	case "":
		return isolate()
	case "inside":
		if err := furnish(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return m.Run()
	default:
		if err := children[what](); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return 0
	}
}

// isolate runs the tests in new namespaces. The kernel kills all processes in them when the tests exit.
func isolate() int {
	runtime.LockOSThread() // Pdeathsig kills the tests when the thread that forked exits
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Env = append(os.Environ(), stage+"=inside")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET,
		Pdeathsig:  syscall.SIGKILL,
	}
	err := cmd.Run()
	if ended, ok := errors.AsType[*exec.ExitError](err); ok {
		return max(1, ended.ExitCode())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "run the tests in new namespaces (needs root):", err)
		return 1
	}
	return 0
}

// furnish mounts the /proc of the namespace and brings its loopback interface up.
func furnish() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	if err := unix.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(socket)
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	lo.SetUint16(unix.IFF_UP)
	return unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, lo)
}
