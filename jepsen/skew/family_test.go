//go:build root && linux && amd64

package skew

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// startFamily starts a shell with a script, which runs the test program as a child by the name "$0".
func startFamily(t *testing.T, script string, offset time.Duration) (*Family, *child) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// The test's context ends before the cleanup, and would orphan the descendants.
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), "sh", "-c", script, program)
	cmd.Env = append(os.Environ(), stage+"=read")
	cmd.Stderr = os.Stderr
	c := &child{t: t, cmd: cmd}
	input, ask, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	answer, output, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdin, cmd.Stdout, c.ask, c.answer = input, output, ask, bufio.NewReader(answer)
	f, err := StartFamily(cmd, offset)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = input.Close(), output.Close()
	t.Cleanup(func() {
		_ = ask.Close()
		f.Wait()
		_ = answer.Close()
	})
	return f, c
}

// All programs have the clock: that of an exec, of a child, of a grandchild in namespaces of its own, and of another user.
func TestFamilyHasOneClock(t *testing.T) {
	for name, script := range map[string]string{
		"exec":       `exec "$0"`,
		"child":      `"$0"; true`,
		"grandchild": `sh -c '"$0"; true' "$0"; true`,
		"namespace":  `unshare --pid --fork --kill-child --mount-proc "$0"; true`,
		"session":    `setsid --wait "$0"; true`,
	} {
		t.Run(name, func(t *testing.T) {
			f, c := startFamily(t, script, time.Hour)
			c.expect(time.Hour)
			for _, offset := range []time.Duration{-time.Minute, 0, maxOffset, -1} {
				if err := f.Set(offset); err != nil {
					t.Fatal(err)
				}
				c.expect(offset)
			}
			_ = c.ask.Close()
			if got := f.Wait(); got != "exit status 0" {
				t.Errorf("Wait() = %q, want exit status 0", got)
			}
			expectNoChildren(t)
		})
	}
}

// A child that a process forks without an exec has the clock, and Set reaches it.
func TestFamilyReachesForks(t *testing.T) {
	const perl = `$| = 1; if (my $child = fork) { waitpid $child, 0; exit } while (<STDIN>) { print time, "\n" }`
	f, c := startFamily(t, "exec perl -e '"+perl+"'", 1000*time.Hour)
	for _, offset := range []time.Duration{1000 * time.Hour, -1000 * time.Hour, 5000 * time.Hour} {
		if err := f.Set(offset); err != nil {
			t.Fatal(err)
		}
		if _, err := c.ask.WriteString("\n"); err != nil {
			t.Fatal(err)
		}
		var sec int64
		c.line(&sec)
		if off := time.Duration(sec-trueClock(unix.CLOCK_REALTIME)/second) * time.Second; (off - offset).Abs() > time.Hour {
			t.Errorf("the clock of the fork is off by %v, want %v", off, offset)
		}
	}
}

// Signals stop, continue and end traced processes as others. Wait returns the signal.
func TestFamilyTakesSignals(t *testing.T) {
	f, c := startFamily(t, `trap "echo trapped; kill -KILL $$" USR1; echo $$; while read -r _; do echo continued; done`, 0)
	var pid int
	var word string
	c.line(&pid)
	signal := func(s syscall.Signal) {
		if err := unix.Kill(pid, s); err != nil {
			t.Fatal(err)
		}
	}
	signal(unix.SIGSTOP)
	for state := ""; state != "t"; {
		stat, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		_, after, _ := strings.Cut(string(stat), ") ")
		state = after[:1]
	}
	if err := f.Set(time.Hour); err != nil {
		t.Errorf("Set of a stopped process: %v", err)
	}
	if _, err := c.ask.WriteString("\n"); err != nil {
		t.Fatal(err)
	}
	signal(unix.SIGCONT)
	if c.line(&word); word != "continued" {
		t.Errorf("answer %q after SIGCONT", word)
	}
	signal(unix.SIGUSR1)
	if c.line(&word); word != "trapped" {
		t.Errorf("answer %q after SIGUSR1", word)
	}
	if got := f.Wait(); got != "signal: killed" {
		t.Errorf("Wait() = %q, want signal: killed", got)
	}
}

// A family leaves the exits of other children of this process to those that wait for them, even if its thread has forked them.
func TestFamilyLeavesOtherChildren(t *testing.T) {
	var others [16]*exec.Cmd
	var inputs [len(others)]io.Closer
	var all sync.WaitGroup
	for i := range others {
		others[i] = exec.CommandContext(context.WithoutCancel(t.Context()), "sh", "-c", fmt.Sprintf("read -r _; exit %d", i+1))
		var err error
		if inputs[i], err = others[i].StdinPipe(); err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			if err := others[i].Start(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	var families [8]*Family
	var first [len(families)]*child
	for i := range families {
		families[i], first[i] = startFamily(t, `"$0"; true`, time.Second)
	}
	for i, other := range others {
		_ = inputs[i].Close()
		if err := other.Wait(); other.ProcessState == nil || other.ProcessState.ExitCode() != i+1 {
			t.Errorf("another child ended with %v, want exit code %d", err, i+1)
		}
	}
	for i, f := range families {
		first[i].expect(time.Second)
		_ = first[i].ask.Close()
		f.Wait()
	}
	expectNoChildren(t)
}
