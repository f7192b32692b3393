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

// role is the environment variable that makes this test program start a sandbox. Its value is the directory that the
// process inside mounts over.
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

// inside runs in the sandbox. It mounts a file system, starts a child process, prints "ready", and waits for a signal. It
// returns 7 after SIGINT, and panics after SIGTERM.
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
		t.Fatalf("sandbox printed %q, %v, want two processes", line, err)
	}
	return cmd
}

// members counts the processes whose environment contains the directory of the sandbox.
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

func TestSandboxLeavesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		end  syscall.Signal
		exit int
	}{"killed": {syscall.SIGKILL, -1}, "interrupted": {syscall.SIGINT, 7}, "panicked": {syscall.SIGTERM, 99}} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			cmd := start(t, dir)
			if n := members(t, dir); n != 3 {
				t.Errorf("found %d processes, want 3: the outer one, the inner one and its child", n)
			}
			if _, err := os.Stat(filepath.Join(dir, "inside")); err == nil {
				t.Error("a file on a mount of the sandbox is visible outside")
			}
			if err := cmd.Process.Signal(c.end); err != nil {
				t.Fatal(err)
			}
			err := cmd.Wait()
			if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != c.exit {
				t.Errorf("Wait() = %v, want exit code %d", err, c.exit)
			}
			deadline := time.Now().Add(10 * time.Second)
			for members(t, dir) > 0 {
				if time.Now().After(deadline) {
					t.Fatalf("%d processes remain", members(t, dir))
				}
				<-time.After(10 * time.Millisecond)
			}
		})
	}
}
