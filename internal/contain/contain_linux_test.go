package contain

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/snowraft/snowraft/internal/cgroup"
	"github.com/snowraft/snowraft/internal/deadline"
)

// TestMain makes the test binary a guard or a starter too.
func TestMain(m *testing.M) {
	if len(os.Args) < 3 {
		os.Exit(m.Run())
	}
	var err error
	switch os.Args[1] {
	case "guard":
		err = Guard(os.Args[2:])
	case "start":
		err = starter(os.Args[2])
	default:
		os.Exit(m.Run())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// tree is a script whose descendants have sessions of their own, and that prints a line when they run. One of them leaves the control group
// for the group OUT, unless that is empty.
const tree = `(setsid sh -c 'if [ "$OUT" ]; then echo 0 >"$OUT/cgroup.procs"; fi; exec sleep 100' &)
setsid sh -c 'setsid sleep 100 & setsid sleep 100 & echo; sleep 100' & (setsid sleep 100 &); sleep 100`

// starter runs tree with a means until it and its descendants have ended, and prints the process ID of its guard first.
func starter(which string) error {
	runtime.LockOSThread()
	now := deadline.Now().Wall
	m := means{Kind: Weak}
	if i, err := strconv.Atoi(which); err == nil {
		m = means{ControlGroup, group(cgroup.Own(os.DirFS("/"))[i])}
	}
	env := append(os.Environ(), "OUT="+string(m.Group))
	child, err := start(Command{
		Guard: []string{"guard"}, Args: []string{"sh", "-c", tree}, Env: env,
		Rules: deadline.Rules{From: now - time.Hour, Until: now + time.Hour},
	}, m)
	if err != nil {
		return err
	}
	fmt.Fprintln(os.Stdout, child.guard)
	<-child.Gone()
	return nil
}

// Without a namespace, the survivor of guard and starter kills all descendants of the command.
func TestDescendantsEndWithGuardOrStarter(t *testing.T) {
	t.Parallel()
	all := map[string]string{"weak": string(Weak)}
	for i, g := range cgroup.Own(os.DirFS("/")) {
		all[filepath.Base(g)] = strconv.Itoa(i)
	}
	for name, which := range all {
		for _, victim := range []string{"guard", "starter"} {
			t.Run(name+"/"+victim, func(t *testing.T) {
				t.Parallel()
				endTree(t, which, victim)
			})
		}
	}
}

// endTree runs tree and kills a process that guards it.
func endTree(t *testing.T, which, victim string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "start", which)
	var failure strings.Builder
	cmd.Stderr, cmd.WaitDelay = &failure, time.Second
	output, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = output.Close() }()
	cmd.Stdout = w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	lines := bufio.NewReader(output)
	first, err := lines.ReadString('\n')
	if err != nil {
		_ = cmd.Wait()
		t.Skip("not possible here: " + failure.String())
	}
	if _, err := lines.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	pid, _ := strconv.Atoi(strings.TrimSpace(first))
	if victim == "starter" {
		pid = cmd.Process.Pid
	}
	if err := unix.Kill(pid, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = output.SetReadDeadline(time.Now().Add(20 * time.Second))
	if _, err := io.Copy(io.Discard, lines); err != nil {
		t.Fatalf("a descendant has not ended: %v", err)
	}
	if err := cmd.Wait(); victim == "guard" && err != nil {
		t.Errorf("the starter: %v: %s", err, failure.String())
	}
}
