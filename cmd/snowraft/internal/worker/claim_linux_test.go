package worker

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// claimer is the start of a command line that runs a script with a claimed worker.
func claimer(t *testing.T, dir string) string {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return program + " worker claim --dir " + dir + " --env-worker WORKER -- sh -c "
}

// Processes that live at the same time claim different workers.
func TestClaimsAreDistinct(t *testing.T) {
	t.Parallel()
	m, dir := startMember(t), t.TempDir()
	claim := claimer(t, dir) + "'echo $WORKER; sleep 100' &"
	w := m.wrapPlain(t, strings.Repeat(claim, 4)+" wait", "--weak-containment", "--count", "4", "--dir", dir)
	var got []string
	for len(got) < 4 && w.lines.Scan() {
		got = append(got, w.lines.Text())
	}
	slices.Sort(got)
	if want := []string{"1", "2", "3", "4"}; !slices.Equal(got, want) {
		t.Fatalf("claimed %v, want %v: %s", got, want, w.errors.String())
	}
	resp, err := m.remote.Workers.ListWorkers(t.Context(), &snowraftv1.ListWorkersRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range resp.GetWorkers()[1:] {
		if p := g.GetProcess(); p.GetKind() != "worker run" || p.GetVersion() != "test" || p.GetProcessId() == "" || p.GetHost() == "" {
			t.Errorf("the holder of worker %d is %v", g.GetWorker(), p)
		}
	}
	list := exec.CommandContext(t.Context(), "/proc/self/exe", "worker", "list", "--addr", m.APIAddr())
	list.Env = append(os.Environ(), asProgram+"=1")
	text, err := list.CombinedOutput()
	if process := fmt.Sprintf("  worker run test, PID %d on ", w.Process.Pid); err != nil || strings.Count(string(text), process) != 4 {
		t.Errorf("%v, and no four lines with %q:\n%s", err, process, text)
	}
	_ = w.Process.Kill()
	<-w.done
	w.last(t)
}

// The next process with a worker starts when the clock has passed the IDs of the last one.
func TestClaimWaitsForTheLastIDs(t *testing.T) {
	t.Parallel()
	m, dir := startMember(t), t.TempDir()
	claim := claimer(t, dir) + "'date +%s%N';"
	w := m.wrapPlain(t, strings.Repeat(claim, 3), "--weak-containment", "--count", "1", "--dir", dir, "--ahead", "300ms")
	var last time.Time
	for i := range 3 {
		if !w.lines.Scan() {
			t.Fatal("no line")
		}
		now := nanoseconds(t, w.lines.Text())
		if gap := now.Sub(last); i > 0 && gap < 307*time.Millisecond {
			t.Errorf("process %d started %v after the clock of the last one, want at least 307ms", i+1, gap)
		}
		last = now
	}
	if code := w.code(); code != 0 {
		t.Errorf("exit code %d: %s", code, w.errors.String())
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*")); len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// A wrapper with --below leases a worker that fits.
func TestRunLeasesBelow(t *testing.T) {
	t.Parallel()
	m := startMember(t)
	first := m.wrap(t, "echo; sleep 100", "--weak-containment", "--below", "2")
	first.begin(t)
	second := m.wrap(t, "echo", "--weak-containment", "--below", "2", "--timeout", "1s")
	_ = first.Process.Signal(unix.SIGTERM)
	second.begin(t) // after the release
	if code := second.code(); code != 0 {
		t.Errorf("exit code %d: %s", code, second.errors.String())
	}
}
