//go:build process

package processtest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/snowraft/snowraft/internal/test/depth"
	"github.com/snowraft/snowraft/trust"
)

// clockScript prints its worker and its clock, in nanoseconds, until it is killed.
const clockScript = `trap "" TERM; while :; do echo $WORKER $(date +%s%N); done`

// startLeasing starts members with windows of a length.
func startLeasing(t *testing.T, size int, window time.Duration) []*member {
	t.Helper()
	members := startCluster(t, size)
	if _, stderr, code := command(t, at(members[0]), "config", "set", "--max-window", window.String()); code != 0 {
		t.Fatal(stderr)
	}
	return members
}

// wrap starts a script under "worker run". It skips the test where no containment is possible.
func (m *member) wrap(script string, flags ...string) *process {
	m.t.Helper()
	args := append([]string{"worker", "run", "--env-worker", "WORKER", "--stop-timeout", "1s"}, flags...)
	return start(m.t, at(m), append(args, "--", "sh", "-c", script)...)
}

// times returns the worker of a clockScript, and its first and last time. The last line may be cut off.
func times(t *testing.T, p *process) (worker string, first, last int64) {
	t.Helper()
	lines := strings.SplitAfter(p.stdout.String(), "\n")
	for _, line := range lines {
		number, clock, whole := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if !whole || !strings.HasSuffix(line, "\n") {
			continue
		}
		now, err := strconv.ParseInt(clock, 10, 64)
		if err != nil || worker != "" && number != worker {
			t.Fatalf("line %q of worker %s", line, worker)
		}
		if worker == "" {
			first = now
		}
		worker, last = number, max(last, now)
	}
	if worker == "" {
		if strings.Contains(p.stderr.String(), "--weak-containment") {
			t.Skip(p.stderr.String())
		}
		t.Fatalf("the command printed nothing: %s", p.stderr.String())
	}
	return worker, first, last
}

// forkingServer is a server of another user, whose four processes have sessions of their own and ignore SIGTERM.
const forkingServer = `exec setpriv --reuid=65534 --regid=65534 --clear-groups perl -MPOSIX=setsid -e '
	$SIG{TERM} = "IGNORE"; $| = 1;
	for (1..4) { fork or do { setsid; sleep 1 while 1 } }
	print "$$\n"; 1 while wait > 0'`

// The processes of a forking server end with a wrapper that is killed, although they have another user.
func TestKilledWrapper(t *testing.T) {
	t.Parallel()
	m := startLeasing(t, 1, 30*time.Second)[0]
	p, processes := m.wrapInGroup(forkingServer)
	if n := len(processes()); n < 7 {
		t.Fatalf("%d processes, want wrapper, guard, server and its four: %s", n, p.stderr.String())
	}
	p.signal(syscall.SIGKILL)
	within(t, endWithWrapper, "all processes end", func() bool { return len(processes()) == 0 })
}

// wrapInGroup starts a script under "worker run" in a new control group, and returns after its first output. processes returns all
// processes of the group.
func (m *member) wrapInGroup(script string, flags ...string) (p *process, processes func() []int) {
	t := m.t
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root can make control groups")
	}
	group, err := os.MkdirTemp("/sys/fs/cgroup/pids", "snowraft-test-*")
	if err != nil {
		if group, err = os.MkdirTemp("/sys/fs/cgroup", "snowraft-test-*"); err != nil {
			t.Skip(err)
		}
	}
	t.Cleanup(func() { _ = os.Remove(group) })
	args := append([]string{"-c", `echo $$ >"$0/cgroup.procs"; exec "$@"`, group, program, "worker", "run", "--env-worker", "WORKER"}, flags...)
	p = startProgram(t, "/bin/sh", at(m), append(args, "--", "sh", "-c", script)...)
	until(t, "the command starts", func() bool { return p.stdout.String() != "" || !p.running() })
	if strings.Contains(p.stderr.String(), "--weak-containment") {
		t.Skip(p.stderr.String())
	}
	return p, func() (all []int) {
		text, err := os.ReadFile(filepath.Join(group, "cgroup.procs"))
		if err != nil {
			t.Fatal(err)
		}
		for field := range strings.FieldsSeq(string(text)) {
			pid, err := strconv.Atoi(field)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, pid)
		}
		return all
	}
}

// Wrapper, guard and command that were stopped beyond the end of the window end when they continue. The log has the documented exception:
// the time until which the command printed.
func TestFrozenWrapper(t *testing.T) {
	t.Parallel()
	const window = 5 * time.Second
	m := startLeasing(t, 1, window)[0]
	p, processes := m.wrapInGroup(clockScript, "--stop-timeout", "1s")
	frozen := processes()
	for _, pid := range frozen {
		_ = syscall.Kill(pid, syscall.SIGSTOP)
	}
	end := time.Now().Add(window) // at the latest
	until(t, "the window ends", func() bool { return time.Now().After(end) })
	thawed := time.Now()
	for _, pid := range slices.Backward(frozen) { // the command before wrapper and guard
		_ = syscall.Kill(pid, syscall.SIGCONT)
	}
	if code := p.exit(); code != 75 {
		t.Errorf("exit code %d of the stopped wrapper: %s", code, p.stderr.String())
	}
	_, _, last := times(t, p)
	t.Logf("after the thaw, the command printed for %v", max(0, time.Unix(0, last).Sub(thawed)))
}

// A holder whose wrapper is stopped shares no millisecond with the next holder of its worker.
func TestStoppedWrapper(t *testing.T) {
	t.Parallel()
	m := startLeasing(t, 1, time.Duration(depth.Of(10, 30))*time.Second)[0]
	first := m.wrap(clockScript, "--below", "2")
	until(t, "the command prints", func() bool { return first.stdout.String() != "" || !first.running() })
	times(t, first)
	first.signal(syscall.SIGSTOP)
	second := m.wrap(clockScript, "--below", "2")
	until(t, "the next holder prints", func() bool { return second.stdout.String() != "" })
	first.signal(syscall.SIGCONT)
	if code := first.exit(); code != 75 {
		t.Errorf("exit code %d of the stopped wrapper: %s", code, first.stderr.String())
	}
	worker, _, last := times(t, first)
	next, begin, _ := times(t, second)
	if worker != next || begin/1e6 <= last/1e6 {
		t.Errorf("worker %s until %d, then worker %s from %d", worker, last, next, begin)
	}
}

// Commands that exit at once follow each other on one worker, and share no millisecond.
func TestWrappedCrashLoop(t *testing.T) {
	t.Parallel()
	m := startLeasing(t, 1, 30*time.Second)[0]
	var end int64
	for i := range depth.Of(20, 200) {
		p := m.wrap("echo $WORKER $(date +%s%N)", "--below", "2")
		if code := p.exit(); code != 0 && !strings.Contains(p.stderr.String(), "--weak-containment") {
			t.Fatalf("exit code %d: %s", code, p.stderr.String())
		}
		worker, first, last := times(t, p)
		if worker != "1" || first/1e6 <= end/1e6 {
			t.Fatalf("round %d: worker %s from %d, want 1 after %d", i, worker, first, end)
		}
		end = last
	}
}

// Each wrapper of one token has a pair of numbers of its own. So many wrappers need the processors for themselves.
func TestWrappedPairs(t *testing.T) {
	wrappers := depth.Of(40, 300)
	m := newCluster(t, 1)[0].secured(trust.NewSecret()).start()
	m.untilIssues()
	if _, stderr, code := command(t, at(m), "layout", "create", "mybatis", "--preset", "mybatis", "--secret-file", *m.secret.Load()); code != 0 {
		t.Fatal(stderr)
	}
	token := m.firstToken("orders", "worker:lease:mybatis")
	const together = 8 // more starts at a time would starve the member
	var all []*process
	holders := map[string]*process{}
	for i := range wrappers + together {
		if i < wrappers {
			all = append(all, m.wrap(`echo "$DC $WORKER"; exec sleep 10000`, "--layout", "mybatis", "--env-datacenter", "DC", "--token", token))
		}
		if i < together {
			continue
		}
		p := all[i-together]
		until(t, fmt.Sprintf("wrapper %d prints", i-together), func() bool { return strings.HasSuffix(p.stdout.String(), "\n") || !p.running() })
		if strings.Contains(p.stderr.String(), "--weak-containment") {
			t.Skip(p.stderr.String())
		}
		pair := p.stdout.String()
		var datacenter, worker uint
		if _, err := fmt.Sscan(pair, &datacenter, &worker); err != nil || datacenter > 31 || worker > 31 {
			t.Fatalf("pair %q: %s", pair, p.stderr.String())
		}
		if other := holders[pair]; other != nil && other.running() && p.running() {
			t.Errorf("two wrappers have %q", pair)
		}
		holders[pair] = p
	}
	for pair, p := range holders {
		if !p.running() {
			t.Errorf("the wrapper with %q ended: %s", pair, p.stderr.String())
		}
	}
	if len(holders) != wrappers {
		t.Errorf("%d wrappers have %d pairs", wrappers, len(holders))
	}
}

// Without a quorum for longer than the window, the command stops before the end of the window. With the quorum, it runs again.
func TestWrappedWithoutQuorum(t *testing.T) {
	t.Parallel()
	const window = 8 * time.Second
	members := startLeasing(t, 3, window)
	p := members[0].wrap(`echo start; while :; do echo $(date +%s%N); sleep 0.02; done`, "--restart", "always")
	until(t, "the command starts", func() bool { return strings.Contains(p.stdout.String(), "start") || !p.running() })
	if !p.running() {
		if strings.Contains(p.stderr.String(), "--weak-containment") {
			t.Skip(p.stderr.String())
		}
		t.Fatal(p.stderr.String())
	}
	for _, m := range members[1:] {
		m.kill()
	}
	lost := time.Now()
	until(t, "the command stops", func() bool { return strings.Contains(p.stderr.String(), "the command was ended") })
	lines := strings.Fields(p.stdout.String())
	last, err := strconv.ParseInt(lines[len(lines)-1], 10, 64)
	if end := lost.Add(window); err != nil || time.Unix(0, last).After(end) {
		t.Errorf("the last line is %q, want a time before %d", lines[len(lines)-1], end.UnixNano())
	}
	for _, m := range members[1:] {
		m.start()
	}
	until(t, "the command starts again", func() bool { return strings.Count(p.stdout.String(), "start") == 2 })
}
