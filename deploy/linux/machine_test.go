//go:build packages && linux

package linux_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// patience bounds a wait for a condition whose time proves nothing.
const patience = 3 * time.Minute

// machine is a copy of this machine with a systemd of its own, in namespaces.
type machine struct {
	t   *testing.T
	pid int // ID of the machine's process 1
}

// boot starts a machine that has a directory as /packages. It needs root.
func boot(t *testing.T, packages string) *machine {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join(t.TempDir(), "machine"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	cmd := exec.Command("testdata/machine.sh", "boot", dir, packages)
	cmd.Stdout, cmd.Stderr = &log, &log
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS | syscall.CLONE_NEWNET,
		Setsid:     true,
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // reports the kill
		if t.Failed() {
			t.Logf("the machine's console:\n%s", &log)
		}
		end := exec.Command("unshare", "--mount", "testdata/machine.sh", "end", dir)
		if output, err := end.CombinedOutput(); err != nil {
			t.Errorf("the machine's cgroups: %v\n%s", err, output)
		}
	})
	m := &machine{t: t, pid: cmd.Process.Pid}
	m.until("the machine runs", func() bool {
		state, _ := m.try("systemctl is-system-running")
		return state == "running" || state == "degraded"
	})
	return m
}

// try runs a line of shell in the machine and returns what it prints.
func (m *machine) try(line string) (string, error) {
	cmd := exec.Command("nsenter", "--target", fmt.Sprint(m.pid), "--mount", "--pid", "--ipc", "--uts", "--net", "--cgroup", "--root",
		"/usr/bin/env", "-i", "--chdir=/", "HOME=/root", "LC_ALL=C.UTF-8", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "/bin/sh", "-c", line)
	output, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(output)), err
}

// run runs a line of shell that must succeed.
func (m *machine) run(line string) string {
	m.t.Helper()
	output, err := m.try(line)
	if err != nil {
		m.t.Fatalf("%s: %v\n%s\n%s", line, err, output, m.journal())
	}
	return output
}

// prints runs lines of shell and compares what they print.
func (m *machine) prints(want map[string]string) {
	m.t.Helper()
	for line, want := range want {
		if got, _ := m.try(line); got != want {
			m.t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

func (m *machine) journal() string {
	lines, _ := m.try("journalctl --no-pager --output=cat --lines=40 --unit='snowraft*'")
	return lines
}

// until polls for a condition.
func (m *machine) until(what string, ok func() bool) {
	m.t.Helper()
	deadline := time.After(patience)
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			m.t.Fatalf("not within %v: %s\n%s", patience, what, m.journal())
		}
	}
}
