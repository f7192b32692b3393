//go:build root && linux

package disk

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/snowraft/snowraft/jepsen/sandbox"
)

// role is the environment variable with the role of this process: "tests" runs the
// tests in a separate mount namespace, and a key of actors uses a disk.
const role = "DISK_TEST_ROLE"

// TestMain runs the tests in separate namespaces, so that no other process sees
// their mounts and the kernel removes the mounts when the tests exit.
func TestMain(m *testing.M) {
	var code int
	var err error
	switch r := os.Getenv(role); r {
	case "":
		code, err = inNamespaces()
	case "tests":
		if err = isolate(); err == nil {
			code = m.Run()
		}
	default:
		code, err = 1, actors[r](os.Args[1:])
		if err == nil {
			code = 0
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	os.Exit(code)
}

func inNamespaces() (int, error) {
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), role+"=tests")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET,
		Pdeathsig:  unix.SIGKILL,
	}
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode(), nil
	}
	return 0, err
}

func isolate() error {
	if err := sandbox.Settle(); err != nil {
		return err
	}
	// The loopback interface of a new network namespace is down.
	return exec.Command("ip", "link", "set", "lo", "up").Run()
}
