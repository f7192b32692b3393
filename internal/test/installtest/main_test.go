//go:build install && linux

package installtest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// baseVariable is the environment variable with the directory of a bare Debian's files. It is set in the process that
// runs the tests.
const baseVariable = "SNOWRAFT_INSTALL_TEST_BASE"

// packages lists the packages of a bare machine in addition to Debian's required packages: the init system, which
// every installation of Debian has.
const packages = "systemd-sysv"

// TestMain runs the tests in their own namespaces. When the tests end, even by a crash, the kernel removes their
// machines, mounts and networks.
func TestMain(m *testing.M) {
	if os.Getenv(baseVariable) != "" {
		if err := syscall.Mount("proc", "/proc", "proc", 0, ""); err != nil {
			fmt.Fprintln(os.Stderr, "mount /proc:", err)
			os.Exit(1)
		}
		os.Exit(m.Run())
	}
	code, err := outside()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// outside makes the files of a bare Debian, runs the tests and returns their exit code.
func outside() (int, error) {
	base, err := os.MkdirTemp("", "snowraft-install-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(base)
	began := time.Now()
	if output, err := exec.Command("mmdebstrap", "--quiet", "--variant=minbase", "--dpkgopt=force-unsafe-io", "--include="+packages, "bookworm", base).CombinedOutput(); err != nil {
		return 0, fmt.Errorf("mmdebstrap (this needs root, Debian's mmdebstrap and a mirror): %w\n%s", err, output)
	}
	fmt.Fprintf(os.Stderr, "files of a bare Debian: %.1f s\n", time.Since(began).Seconds())

	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Env = append(os.Environ(), baseVariable+"="+base)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:   syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET,
		Unshareflags: syscall.CLONE_NEWNS, // makes the mounts private
		Pdeathsig:    syscall.SIGKILL,
	}
	runtime.LockOSThread() // the kernel ends the process with the thread that started it
	err = cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode(), nil
	}
	if err != nil {
		return 0, fmt.Errorf("start the tests in namespaces of their own (this needs root): %w", err)
	}
	return 0, nil
}
