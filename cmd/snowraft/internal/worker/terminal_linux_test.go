package worker

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/snowraft/snowraft/internal/test/terminal"
)

// stopped reports whether a process is stopped.
func stopped(pid int) bool {
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, state, _ := strings.Cut(string(stat), ") ")
	return strings.HasPrefix(state, "T")
}

// typist prints what it reads first, and then its clock, in nanoseconds. It starts no process: a shell does not stop while a process that
// it starts with vfork is stopped.
const typist = `exec bash -c 'read line; echo $line; while :; do echo ${EPOCHREALTIME/./}000; read -t 0.05; done'`

// The terminal belongs to the command. After Ctrl-Z, the wrapper stops too, and both continue with SIGCONT. Beyond the end of the window, the
// command does not continue.
func TestCommandHasTheTerminal(t *testing.T) {
	t.Parallel()
	m := startMember(t)
	keyboard, screen := terminal.Open(t)
	w := m.prepare(t, typist, "--weak-containment")
	w.Stdin = screen
	w.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	w.launch(t)
	press := func(keys string) {
		if _, err := keyboard.WriteString(keys); err != nil {
			t.Fatal(err)
		}
	}
	press("typed\n")
	if w.begin(t); w.lines.Text() != "typed" {
		t.Errorf("the command read %q, want the typed line", w.lines.Text())
	}
	const ctrlZ = "\x1a"
	var last time.Time
	for range 2 {
		press(ctrlZ)
		await(t, func() bool { return stopped(w.Process.Pid) })
		_ = w.Process.Signal(unix.SIGCONT)
		for at := time.Now(); !last.After(at); last = nanoseconds(t, w.lines.Text()) {
			if !w.lines.Scan() {
				t.Fatal("the command does not continue: " + w.errors.String())
			}
		}
	}
	press(ctrlZ)
	await(t, func() bool { return stopped(w.Process.Pid) })
	end := time.Now().Add(window) // at the latest
	await(t, func() bool { return time.Now().After(end) })
	_ = w.Process.Signal(unix.SIGCONT)
	if code := w.code(); code != ExitLease {
		t.Errorf("exit code %d beyond the window, want %d: %s", code, ExitLease, w.errors.String())
	}
	if line := w.last(t); line != "" && nanoseconds(t, line).After(end) {
		t.Errorf("the command printed %s, and its window ended before %v", line, end)
	}
}
