package worker

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

func TestRunPassesOnTheExitCode(t *testing.T) {
	t.Parallel()
	m := startMember(t)
	for script, want := range map[string]int{
		"exit 0": 0, "exit 7": 7, "kill -9 $$": 128 + 9, "test $WORKER = 1 || exit 3": 0,
	} {
		w := m.wrap(t, script, "--weak-containment")
		if code := w.code(); code != want {
			t.Errorf("%s: exit code %d, want %d: %s", script, code, want, w.errors.String())
		}
	}
	w := m.wrap(t, "trap 'exit 9' TERM; echo; while :; do sleep 0.05; done", "--weak-containment")
	w.begin(t)
	_ = w.Process.Signal(unix.SIGTERM)
	if code := w.code(); code != 9 {
		t.Errorf("after SIGTERM: exit code %d, want 9: %s", code, w.errors.String())
	}
}

// A failure before the start names the flag or the file, in a single line, and has its exit code.
func TestFailedStartNamesItsCause(t *testing.T) {
	t.Parallel()
	m, dir := startMember(t), t.TempDir()
	for name, text := range map[string]string{"script": "#!/nowhere\n", "data": "no program"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	script, data, readOnly, away := filepath.Join(dir, "script"), filepath.Join(dir, "data"), "/proc/self/status", filepath.Join(dir, "none", "x")
	run, claim := []string{"run", "--weak-containment", "--stop-timeout", "1s", "--addr", m.APIAddr()}, []string{"claim", "--dir"}
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{append(run, "--layout", "nope", "true"), 1, `layout "nope" does not exist; see "snowraft layout list", or create the layout with "snowraft layout create" [UNKNOWN_LAYOUT]`},
		{append(run, "--below", "70000", "true"), 1, "below 70000: expected 1 to 65536, or 0 for any worker [INVALID_ARGUMENT]"},
		{append(run, "--file", away, "true"), 1, "write " + away + ": no such file or directory"},
		{append(run, "--http-addr", m.APIAddr(), "true"), 1, `--http-addr "` + m.APIAddr() + `": address already in use`},
		{append(run, "--stop-timeout", "1h", "true"), 1, "the window of 6s is shorter than --stop-timeout, --ahead, --clock-back and the cluster's clock offset, 1h0m0.505s together; " +
			"shorten them, or raise max-window of the cluster"},
		{append(run, "--holder", strings.Repeat("x", 126), "true"), 2, "--holder of 126 bytes: expected 1 to 125 bytes"},
		{append(run, "--count", "2", "true"), 2, "--count needs --dir, the directory for a file for each worker"},
		{append(run, "nowhere"), 127, `exec: "nowhere": executable file not found in $PATH`},
		{append(run, script), 127, script + ": no such file or directory"},
		{append(run, data), 126, data + ": exec format error"},
		{append(run, readOnly), 126, `exec: "` + readOnly + `": permission denied`},
		{append(claim, dir, "nowhere"), 127, `exec: "nowhere": executable file not found in $PATH`},
		{append(claim, dir, readOnly), 126, `exec: "` + readOnly + `": permission denied`},
		{append(claim, away, "true"), 1, `--dir "` + away + `": no such file or directory`},
		{nil, 2, "worker: missing subcommand; expected claim, list or run"},
	} {
		cmd := exec.CommandContext(t.Context(), "/proc/self/exe", append([]string{"worker"}, c.args...)...)
		cmd.Env = append(os.Environ(), asProgram+"=1")
		out, _ := cmd.CombinedOutput()
		text := string(out)
		if code := cmd.ProcessState.ExitCode(); code != c.code || text != "snowraft: "+c.want+"\n" {
			t.Errorf("%q: exit code %d, want %d: %s", c.args, code, c.code, text)
		}
	}
}

func TestRunPassesOnSignals(t *testing.T) {
	t.Parallel()
	signal.Notify(make(chan os.Signal, 1), unix.SIGHUP) // under nohup, the wrapper would ignore it too
	m := startMember(t)
	for _, s := range []unix.Signal{unix.SIGHUP, unix.SIGQUIT, unix.SIGUSR1, unix.SIGUSR2, unix.SIGALRM, unix.SIGWINCH, unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU, 35, 64} {
		w := m.wrap(t, fmt.Sprintf("trap 'exit 9' %d; echo; while :; do sleep 0.05; done", s), "--weak-containment")
		w.begin(t)
		_ = w.Process.Signal(s)
		if code := w.code(); code != 9 {
			t.Errorf("after %v: exit code %d, want 9: %s", s, code, w.errors.String())
		}
	}
}

// The worker of a command that has ended is free at once, from the last time that an ID of the command can have.
func TestRunReleasesTheWorker(t *testing.T) {
	t.Parallel()
	m := startMember(t)
	for range 3 {
		w := m.wrap(t, "echo; date +%s%N; echo $WORKER >&2", "--weak-containment", "--holder", "app", "--ahead", "100ms")
		w.begin(t)
		last := nanoseconds(t, w.last(t))
		if code := w.code(); code != 0 || w.errors.String() != "1\n" {
			t.Fatalf("exit code %d, %s; want worker 1", code, w.errors.String())
		}
		resp, err := m.remote.Workers.ListWorkers(t.Context(), &snowraftv1.ListWorkersRequest{})
		if err != nil {
			t.Fatal(err)
		}
		g := resp.GetWorkers()[1]
		if free := time.UnixMilli(g.GetUntilAtMs()); g.GetState() != snowraftv1.WorkerState_WORKER_STATE_RELEASED || free.Sub(last) < 107*time.Millisecond {
			t.Errorf("%v, free at %v, want at least 107 ms after %v", g.GetState(), free, last)
		}
		for time.Now().Before(time.UnixMilli(g.GetUntilAtMs())) {
			runtime.Gosched() // the next holder prefers a worker that is free already
		}
	}
}

// The command gets its numbers in the environment, in arguments and in a file, which the wrapper removes.
func TestRunConfiguresTheCommand(t *testing.T) {
	t.Parallel()
	m := startMember(t)
	file := filepath.Join(t.TempDir(), "worker")
	w := m.wrap(t, `echo; echo "$WORKER,$DC,$0,$1",$(cat `+file+`)`, "--weak-containment",
		"--env-datacenter", "DC", "--arg", "--node={worker}/{datacenter}", "--arg", "{layout} {other}", "--file", file)
	w.begin(t)
	if got, want := w.last(t), "1,0,--node=1/0,default {other},WORKER=1 DATACENTER=0 LAYOUT=default SPLIT=32"; got != want || w.code() != 0 {
		t.Errorf("%s, want %s: %s", got, want, w.errors.String())
	}
	if left, err := filepath.Glob(file + "*"); len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// With --restart always, the command runs again until the wrapper gets a signal.
func TestRunRestartsTheCommand(t *testing.T) {
	t.Parallel()
	m := startMember(t)
	w := m.wrap(t, "echo $WORKER; exit 3", "--weak-containment", "--restart", "always")
	for range 2 {
		if !w.lines.Scan() {
			t.Fatal(w.errors.String())
		}
	}
	_ = w.Process.Signal(unix.SIGTERM)
	if code := w.code(); code != 3 && code != 128+int(unix.SIGTERM) || !strings.Contains(w.errors.String(), "the command exited with code 3; restart in 1s") {
		t.Errorf("exit code %d: %s", code, w.errors.String())
	}
}

// All descendants of the command end with a wrapper that is killed, even those in sessions of their own.
func TestDescendantsEndWithTheWrapper(t *testing.T) {
	t.Parallel()
	m := startMember(t)
	w := m.wrap(t, "setsid sh -c 'setsid sleep 100 & sleep 100' & (setsid sleep 100 &) ; echo; sleep 100")
	w.begin(t)
	_ = w.Process.Kill()
	w.last(t)
}

// clock is a script that ignores SIGTERM and prints its clock, in nanoseconds, until it is killed.
const clock = "trap '' TERM; while :; do date +%s%N; done"

func nanoseconds(t *testing.T, text string) time.Time {
	t.Helper()
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return time.Unix(0, n)
}

// busy is the time by which IDs may be ahead of the clock, in tests of the end of a window. The command is killed that much earlier, so these
// tests pass on a machine that keeps the process that kills it waiting for a processor for as long.
const busy = "2s"

// If the wrapper is stopped, the guard ends the command before its window ends.
func TestGuardEndsTheCommandOfAStoppedWrapper(t *testing.T) {
	t.Parallel()
	m := startMember(t)
	w := m.wrap(t, clock, "--weak-containment", "--ahead", busy)
	w.begin(t)
	_ = w.Process.Signal(unix.SIGSTOP)
	stopped := time.Now()
	if last := nanoseconds(t, w.last(t)); last.After(stopped.Add(window)) {
		t.Errorf("the command ran until %v, and the last window ended before %v", last, stopped.Add(window))
	}
}

// If the guard is stopped and the window is not extended, the wrapper ends the command before its window ends.
func TestWrapperEndsTheCommandOfAStoppedGuard(t *testing.T) {
	t.Parallel()
	m := startMember(t)
	w := m.wrap(t, clock, "--weak-containment", "--ahead", busy)
	w.begin(t)
	for _, guard := range children(t, w.Process.Pid) {
		_ = unix.Kill(guard, unix.SIGSTOP)
	}
	_ = m.Close(context.Background())
	closed := time.Now()
	if last := nanoseconds(t, w.last(t)); last.After(closed.Add(window)) {
		t.Errorf("the command ran until %v, and the last window ended before %v", last, closed.Add(window))
	}
	if code := w.code(); code != ExitLease {
		t.Errorf("exit code %d, want %d: %s", code, ExitLease, w.errors.String())
	}
}

// children returns the process IDs of the children of a process.
func children(t *testing.T, pid int) (all []int) {
	t.Helper()
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, _ := os.ReadFile(file)
		for word := range strings.FieldsSeq(string(text)) {
			child, _ := strconv.Atoi(word)
			all = append(all, child)
		}
	}
	if len(all) == 0 {
		t.Fatal("the wrapper has no guard")
	}
	return all
}

// Without a cluster, the command gets SIGTERM before its window ends, and the message has the reason.
func TestRunEndsTheCommandWithoutACluster(t *testing.T) {
	t.Parallel()
	m := startMember(t)
	w := m.wrap(t, "trap 'date +%s%N; exit 0' TERM; echo; while :; do sleep 0.05; done", "--weak-containment")
	w.begin(t)
	_ = m.Close(context.Background())
	closed := time.Now()
	if last := nanoseconds(t, w.last(t)); last.After(closed.Add(window)) {
		t.Errorf("the command ran until %v, and the last window ended before %v", last, closed.Add(window))
	}
	if code, text := w.code(), w.errors.String(); code != ExitLease || !strings.Contains(text, "the window ends soon; the command was ended: ") {
		t.Errorf("exit code %d, want %d with the reason: %s", code, ExitLease, text)
	}
}
