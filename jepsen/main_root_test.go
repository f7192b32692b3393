//go:build root && linux

package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// build compiles the program, and returns its path.
func build(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "jepsen")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return program
}

// cannot runs the program, which must print one line with all of these words, and exit with exitCannot.
func cannot(t *testing.T, cmd *exec.Cmd, words ...string) {
	t.Helper()
	var said bytes.Buffer
	cmd.Stderr = &said
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != exitCannot {
		t.Errorf("%s: %v, want exit code %d", cmd.Args, err, exitCannot)
	}
	text := said.String()
	if strings.Count(text, "\n") != 1 {
		t.Errorf("%s printed %q, want one line", cmd.Args, text)
	}
	for _, word := range words {
		if !strings.Contains(text, word) {
			t.Errorf("%s printed %q, want %q in it", cmd.Args, text, word)
		}
	}
}

// TestRunReportsMissingPrograms hides the programs that hosts need.
func TestRunReportsMissingPrograms(t *testing.T) {
	program, dir := build(t), t.TempDir()
	cmd := exec.CommandContext(t.Context(), program, "run", "--"+programsFlag, dir, "--duration", "1m")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "PATH="+dir)
	cannot(t, cmd, "mkfs.ext4", "iptables-restore", "date")
}

// TestCommandsReportMissingRoot runs commands that need root as an unprivileged user.
func TestCommandsReportMissingRoot(t *testing.T) {
	program := build(t)
	opened, err := os.Open(program) // the unprivileged user cannot read its directory
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	for _, args := range []string{"run", "mutants", "scenario all"} {
		cmd := exec.CommandContext(t.Context(), "/proc/self/fd/3", strings.Fields(args)...)
		cmd.ExtraFiles = []*os.File{opened}
		cmd.Dir = "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		cannot(t, cmd, "root")
	}
}
