//go:build process

package processtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// TestQuickStart plays the quick start of the README in a clone of the last commit of the checkout. The gate runs the last
// command, so the test only compares it with the gate's.
func TestQuickStart(t *testing.T) {
	t.Parallel()
	installed(t, "curl", "curl")
	installed(t, "git", "git")
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	clone, dev, curl, test := quickStart(t, root)
	dir := t.TempDir()
	const origin = "https://github.com/snowraft/snowraft"
	if !strings.Contains(clone, " "+origin+" ") {
		t.Fatalf("%q does not clone %s", clone, origin)
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-c", strings.Replace(clone, origin, root+" snowraft", 1)+" && pwd")
	cmd.Dir = dir
	output, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", clone, err)
	}
	dir = strings.TrimSpace(string(output))
	build := exec.CommandContext(t.Context(), "sh", "-c", strings.TrimSuffix(dev, " dev")+" version") // takes long without a cache
	build.Dir = dir
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v: %s", build, err, output)
	}
	base := portBase(t)
	p := startBy(t, func(cmd *exec.Cmd) error { cmd.Dir = dir; return cmd.Start() }, "sh", nil, "-c", "exec "+dev+" --port-base "+base)
	group := func(s syscall.Signal) { _ = syscall.Kill(-p.cmd.Process.Pid, s) } // "go run" passes no signal on
	t.Cleanup(func() { group(syscall.SIGKILL) })
	until(t, "dev is ready", func() bool {
		if !p.running() {
			t.Fatalf("%s exited: %s", dev, p.stderr.tail(20))
		}
		return strings.Contains(p.stdout.String(), "Press Ctrl-C to stop.")
	})
	port, _ := strconv.Atoi(base)
	answered, err := exec.CommandContext(t.Context(), "sh", "-c", strings.Replace(curl, "7701", strconv.Itoa(port+1), 1)).Output()
	if err != nil || !regexp.MustCompile(`^[1-9][0-9]{17}\n?$`).Match(answered) {
		t.Errorf("%s prints %q: %v", curl, answered, err)
	}
	group(syscall.SIGINT)
	p.exit() // 1 after an interrupt, whatever the program's code
	if failed := p.stderr.String(); failed != "" || !p.alone() {
		t.Errorf("%s does not exit cleanly: %s", dev, failed)
	}
	table, err := os.ReadFile(filepath.Join(root, "internal", "build", "gate", "table.go"))
	if err != nil {
		t.Fatal(err)
	}
	gate := `gate: each(tests("` + strings.Join(strings.Fields(strings.Replace(test, "go test ", "go test -json ", 1)), `", "`) + `")),`
	if !strings.Contains(string(table), gate) {
		t.Errorf("the gate does not run %q: internal/build/gate/table.go has no %s", test, gate)
	}
}

// quickStart returns the four commands of the quick start, without their comments.
func quickStart(t *testing.T, root string) (clone, dev, curl, test string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## Quick start\n")
	_, block, _ := strings.Cut(section, "\n```sh\n")
	block, _, _ = strings.Cut(block, "\n```\n")
	var commands []string
	for line := range strings.Lines(block) {
		command, _, _ := strings.Cut(line, "#")
		commands = append(commands, strings.TrimSpace(command))
	}
	if len(commands) != 4 {
		t.Fatalf("the quick start has the commands %q, want 4", commands)
	}
	return commands[0], commands[1], commands[2], commands[3]
}
