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

// stage is the environment variable that tells this program what it is: the tests
// outside, the tests within namespaces of their own, or a child of the tests, by what
// it does.
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

// isolate runs the tests in namespaces of their own, whose end is the end of all in them.
func isolate() int {
	runtime.LockOSThread() // its end would be the tests' end
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
		fmt.Fprintln(os.Stderr, "namespaces of their own for the tests, which need root:", err)
		return 1
	}
	return 0
}

// furnish mounts the /proc of the namespace and brings its loopback interface up.
func furnish() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("making mounts private: %w", err)
	}
	if err := unix.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		return fmt.Errorf("mounting /proc: %w", err)
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
