//go:build process && linux

package processtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/snowraft/snowraft/internal/test/depth"
)

// inMachine holds the program under test if this process is the first one of a virtual machine.
const inMachine = "SNOWRAFT_TEST_MACHINE"

func init() {
	if program := os.Getenv(inMachine); program != "" {
		err := stepClocks(program, os.Getenv("SNOWRAFT_TEST_RESULT"))
		fmt.Fprintln(os.Stdout, "result:", err)
		_ = unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF)
	}
}

// A step of the clock that wrapper and command read ends the command. Its worker is not released, and the next holder makes none of its IDs.
// The clock is that of a virtual machine: Debian's user-mode-linux.
func TestWrappedClockSteps(t *testing.T) {
	t.Parallel()
	linux, err := exec.LookPath("linux.uml")
	if err != nil {
		t.Skip(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	p := startProgram(t, linux, nil, "mem=1G", "root=/dev/root", "rootfstype=hostfs", "rootflags=/", "rw", "init="+self, "con=null", "con0=null,fd:1",
		inMachine+"="+program, "SNOWRAFT_TEST_RESULT="+dir, "SNOWRAFT_DEPTH="+os.Getenv("SNOWRAFT_DEPTH"))
	<-p.ended // within the limit of "go test"; a virtual machine is slow
	if !strings.Contains(p.stdout.String(), "result: <nil>") {
		t.Fatal(p.stdout.tail(40))
	}
	checkStepped(t, dir)
}

// clockSteps are the steps of the clock, in the order in which they are played.
var clockSteps = []struct {
	name  string
	steps []time.Duration
	pause time.Duration
	why   string
}{
	{"undone", []time.Duration{time.Hour, -time.Hour}, 0, "the clock "},
	{"small", repeated(100, -4*time.Millisecond), 20 * time.Millisecond, "the clock moved back by "},
	{"hour", []time.Duration{time.Hour}, 0, "the clock moved out of the window"},
}[:depth.Of(1, 3)]

// repeated returns n equal durations.
func repeated(n int, d time.Duration) (all []time.Duration) {
	for range n {
		all = append(all, d)
	}
	return all
}

// checkStepped checks the IDs that wrapped commands made, which files of a directory hold.
func checkStepped(t *testing.T, dir string) {
	t.Helper()
	seen := map[string]string{}
	for _, c := range clockSteps {
		for _, holder := range []string{"first", "next"} {
			name := c.name + "-" + holder
			text, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			lines, last := strings.SplitAfter(string(text), "\n"), ""
			for _, line := range lines {
				if whole, ok := strings.CutSuffix(line, "\n"); ok {
					id := whole[:len(whole)-3] // milliseconds
					if other := seen[id]; other != "" && other != name {
						t.Errorf("%s and %s made %s", other, name, id)
					}
					seen[id], last = name, id
				}
			}
			t.Logf("%s: %d lines until %s", name, len(lines), last)
		}
	}
}

// stepClocks is the first process of the virtual machine. It plays clockSteps, each with a wrapper and another one after it.
func stepClocks(program, dir string) error {
	for _, err := range []error{
		os.Setenv("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"), os.Setenv("HOME", "/run"), os.Unsetenv(inMachine),
		unix.Mount("proc", "/proc", "proc", 0, ""), unix.Mount("run", "/run", "tmpfs", 0, ""), exec.Command("ip", "link", "set", "lo", "up").Run(),
	} {
		if err != nil {
			return err
		}
	}
	if err := exec.Command(program, "serve", "--data-dir", "/run/data", "--bootstrap-expect", "1", "--insecure").Start(); err != nil {
		return err
	}
	if err := again(func() error { return exec.Command(program, "config", "set", "--max-window", "30s").Run() }); err != nil {
		return err
	}
	for _, c := range clockSteps {
		first, err := bashed(program, filepath.Join(dir, c.name+"-first"))
		if err != nil {
			return err
		}
		var off time.Duration
		for _, d := range c.steps {
			off += d
			if err := stepClock(d); err != nil {
				return err
			}
			if c.pause > 0 {
				<-time.After(c.pause)
			}
		}
		if err := first.Wait(); first.ProcessState.ExitCode() != 75 || !strings.Contains(first.Stderr.(*bytes.Buffer).String(), c.why) {
			return fmt.Errorf("%s: %w, %v", c.name, err, first.Stderr)
		}
		if err := released(program); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		if err := stepClock(-off); err != nil { // no member grants a worker by a clock that is an hour ahead
			return err
		}
		next, err := bashed(program, filepath.Join(dir, c.name+"-next"))
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		_ = next.Process.Signal(syscall.SIGTERM)
		_ = next.Wait()
	}
	return nil
}

// again repeats f until it succeeds.
func again(f func() error) error {
	var err error
	for range 3000 {
		if err = f(); err == nil {
			return nil
		}
		<-time.After(100 * time.Millisecond)
	}
	return err
}

// bashed starts a wrapped command that writes its worker and its clock, in microseconds, into a file without a pause. It returns after the first IDs.
func bashed(program, file string) (*exec.Cmd, error) {
	cmd := exec.Command(program, "worker", "run", "--below", "2", "--stop-timeout", "1s", "--env-worker", "WORKER", "--",
		"bash", "-c", `exec >"$0"; while :; do echo "$WORKER ${EPOCHREALTIME/./}"; done`, file)
	cmd.Stderr = new(bytes.Buffer)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return cmd, again(func() error {
		if info, err := os.Stat(file); err != nil || info.Size() < 10_000 {
			return errors.Join(err, fmt.Errorf("%s has no IDs: %v", file, cmd.Stderr))
		}
		return nil
	})
}

// stepClock steps the clock of this machine, which is a virtual one.
func stepClock(d time.Duration) error {
	seconds := d.Truncate(time.Second)
	if d < seconds {
		seconds -= time.Second
	}
	_, err := unix.Adjtimex(&unix.Timex{
		Modes: unix.ADJ_SETOFFSET | unix.ADJ_NANO, Time: unix.Timeval{Sec: int64(seconds / time.Second), Usec: int64(d - seconds)},
	})
	return err
}

// released fails if the worker of the wrapper was released.
func released(program string) error {
	output, err := exec.Command(program, "worker", "list", "-o", "json").Output()
	if err != nil {
		return err
	}
	var list struct {
		Workers []struct{ Worker, State string }
	}
	if err := json.Unmarshal(output, &list); err != nil {
		return err
	}
	for _, w := range list.Workers {
		if w.Worker == "1" && w.State != "released" {
			return nil
		}
	}
	return fmt.Errorf("worker 1 was released: %s", output)
}
