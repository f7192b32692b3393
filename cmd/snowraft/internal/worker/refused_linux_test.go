package worker

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// bar is a script that bars its process from namespaces and control groups, and becomes the program $0.
const bar = `mount -t tmpfs -o ro none /sys/fs/cgroup && echo 0 >/proc/sys/user/max_pid_namespaces && echo 0 >/proc/sys/user/max_user_namespaces || exit 99
exec "$0" "$@"`

// A wrapper that can contain nothing starts nothing and returns its worker, in one line that names all means. With --weak-containment it
// starts the command.
func TestRunRefusesWithoutContainment(t *testing.T) {
	t.Parallel()
	m := startMember(t)
	start := func(flags ...string) *wrapped {
		w := m.prepare(t, "echo", flags...)
		program, err := os.Executable()
		if err == nil {
			w.Path, err = exec.LookPath("sh")
		}
		if err != nil {
			t.Fatal(err)
		}
		w.Args = append([]string{"sh", "-c", bar, program}, w.Args[1:]...)
		w.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
			UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}, GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
		}
		if err := w.Start(); err != nil {
			t.Skip("no user namespace here: ", err)
		}
		go func() {
			_ = w.Wait()
			_ = w.keep.Close()
			close(w.done)
		}()
		if w.code() == 99 {
			t.Skip("user namespaces have no limits here: ", w.errors.String())
		}
		return w
	}
	w := start()
	text := w.errors.String()
	if code := w.code(); code != 1 || w.lines.Scan() || strings.Count(text, "\n") != 1 ||
		!strings.HasPrefix(text, "snowraft: the command was not started, because its descendants could outlive it (namespace: ") ||
		!strings.HasSuffix(text, "); allow a PID namespace or a control group, be the first process of a container, or set --weak-containment\n") {
		t.Errorf("exit code %d, output %q: %s", code, w.lines.Text(), text)
	}
	resp, err := m.remote.Workers.ListWorkers(t.Context(), &snowraftv1.ListWorkersRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range resp.GetWorkers() {
		if g.GetWorker() != 0 && g.GetState() != snowraftv1.WorkerState_WORKER_STATE_RELEASED {
			t.Errorf("worker %d is %v until %v", g.GetWorker(), g.GetState(), time.UnixMilli(g.GetUntilAtMs()))
		}
	}
	if w := start("--weak-containment"); w.code() != 0 || !w.lines.Scan() {
		t.Errorf("with --weak-containment: exit code %d: %s", w.code(), w.errors.String())
	}
}
