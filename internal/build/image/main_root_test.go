//go:build root && linux

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// inside is set in the environment of the process that runs the tests.
const inside = "SNOWRAFT_IMAGE_TEST_INSIDE"

// TestMain runs the tests in their own namespaces: their processes and mounts end with them.
func TestMain(m *testing.M) {
	if os.Getenv(inside) != "" {
		if err := syscall.Mount("proc", "/proc", "proc", 0, ""); err != nil {
			fmt.Fprintln(os.Stderr, "mount /proc:", err)
			os.Exit(1)
		}
		os.Exit(m.Run())
	}
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Env = append(os.Environ(), inside+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:   syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET,
		Unshareflags: syscall.CLONE_NEWNS, // makes the mounts private
		Pdeathsig:    syscall.SIGKILL,
	}
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		os.Exit(exit.ExitCode())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "start the tests in namespaces of their own (it takes root):", err)
		os.Exit(1)
	}
}
