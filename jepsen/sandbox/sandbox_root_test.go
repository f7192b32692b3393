//go:build root && linux

package sandbox_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/snowraft/snowraft/jepsen/sandbox"
)

// role is an environment variable: what this test program does when it is started by a
// test. Its value is the directory that is mounted over in the sandbox.
const role = "SANDBOX_TEST_DIR"

func TestMain(m *testing.M) {
	dir := os.Getenv(role)
	switch {
	case dir == "":
		os.Exit(m.Run())
	case sandbox.Inside():
		os.Exit(sandbox.Said(inside(dir)))
	}
	code, err := sandbox.Run(os.Args[0])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(99)
	}
	os.Exit(code)
}

// inside is what runs in the sandbox: it mounts something, leaves a process behind, says so
// and waits until it is interrupted. When it is asked to end otherwise, it panics.
func inside(dir string) int {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	child := exec.CommandContext(context.Background(), "sleep", "86399")
	err := errors.Join(
		sandbox.Settle(),
		unix.Mount("tmpfs", dir, "tmpfs", 0, ""),
		os.WriteFile(filepath.Join(dir, "inside"), nil, 0o600),
		child.Start(),
	)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 98
	}
	pids, err := filepath.Glob("/proc/[0-9]*")
	_, _ = fmt.Fprintln(os.Stdout, "ready", len(pids), err)
	if <-signals == syscall.SIGTERM {
		panic("a panic of the test")
	}
	return 7
}

// start starts a sandbox and waits until it is ready.
func start(t *testing.T, dir string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(context.Background(), os.Args[0])
	cmd.Env = append(os.Environ(), role+"="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || line != "ready 2 <nil>\n" {
		t.Fatalf("it said %q, %v, and has two processes", line, err)
	}
	return cmd
}

// members counts the processes that have the sandbox's directory in their environment.
func members(t *testing.T, dir string) (n int) {
	t.Helper()
	paths, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err == nil && strings.Contains(string(raw), role+"="+dir+"\x00") {
			n++
		}
	}
	return n
}

func TestNothingIsLeft(t *testing.T) {
	for name, c := range map[string]struct {
		end  syscall.Signal
		exit int
	}{"killed": {syscall.SIGKILL, -1}, "interrupted": {syscall.SIGINT, 7}, "panicked": {syscall.SIGTERM, 99}} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			cmd := start(t, dir)
			if n := members(t, dir); n != 3 {
				t.Errorf("%d processes, expected the one outside, the one inside and its child", n)
			}
			if _, err := os.Stat(filepath.Join(dir, "inside")); err == nil {
				t.Error("what is mounted inside is seen outside")
			}
			if err := cmd.Process.Signal(c.end); err != nil {
				t.Fatal(err)
			}
			err := cmd.Wait()
			if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != c.exit {
				t.Errorf("it ended with %v, expected exit code %d", err, c.exit)
			}
			deadline := time.Now().Add(10 * time.Second)
			for members(t, dir) > 0 {
				if time.Now().After(deadline) {
					t.Fatalf("%d processes are left", members(t, dir))
				}
				<-time.After(10 * time.Millisecond)
			}
		})
	}
}
