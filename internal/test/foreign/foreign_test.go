//go:build foreign

package foreign_test

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// alone returns the command of a copy that is the first process of a PID namespace, as in a container.
func (l library) alone(t *testing.T, env ...string) *exec.Cmd {
	args := l.program(t, l.count)
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(os.Environ(), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID}
	return cmd
}

// play runs copies of a program at the same time. It returns their IDs and the time at which the first was read.
func play(t *testing.T, count int, copies ...*exec.Cmd) (ids [][]uint64, ended time.Time) {
	t.Helper()
	var starts []io.WriteCloser
	var outs []*bufio.Scanner
	for _, c := range copies {
		c.Stderr = os.Stderr
		stdin, err := c.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		stdout, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Process.Kill() })
		out := bufio.NewScanner(stdout)
		if !out.Scan() || out.Text() != "ready" {
			t.Fatalf("%v: not ready: %q", c.Args, out.Text())
		}
		starts, outs = append(starts, stdin), append(outs, out)
	}
	for _, s := range starts {
		if _, err := s.Write([]byte("\n")); err != nil {
			t.Fatal(err)
		}
	}
	for i, out := range outs {
		made := make([]uint64, 0, count)
		for out.Scan() {
			if len(made) == 0 && i == 0 {
				ended = time.Now()
			}
			made = append(made, number(t, out.Text()))
		}
		if err := copies[i].Wait(); err != nil || len(made) != count {
			t.Fatalf("%v: %d IDs, %v", copies[i].Args, len(made), err)
		}
		ids = append(ids, made)
	}
	return ids, ended
}

func number(t *testing.T, text string) uint64 {
	t.Helper()
	id, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// repeated returns how many of all IDs came before.
func repeated(ids ...[]uint64) int {
	all := slices.Concat(ids...)
	slices.Sort(all)
	return len(all) - len(slices.Compact(all))
}

// TestCopiesRepeatIDs records the IDs that two containers of one image repeat, if nothing leases their workers.
func TestCopiesRepeatIDs(t *testing.T) {
	for _, l := range libraries() {
		t.Run(l.name, func(t *testing.T) {
			image := strings.Fields(l.image)
			ids, _ := play(t, l.count, l.alone(t, image...), l.alone(t, image...))
			alone := repeated(ids[0]) + repeated(ids[1])
			twice := repeated(ids...) - alone
			t.Logf("of %d IDs each, %d came twice; %d within a copy", l.count, twice, alone)
			if twice == 0 {
				t.Error("no ID came twice")
			}
		})
	}
}

// TestLayoutsOfLibraries gives a worker to the real libraries, and reads it in each of their IDs. The times of IDs are those of
// the run, and ahead of the clock by no more than expected.
func TestLayoutsOfLibraries(t *testing.T) {
	const worker = 11<<5 | 26
	for _, l := range libraries() {
		t.Run(l.name, func(t *testing.T) {
			began := time.Now()
			ids, ended := play(t, l.count, l.alone(t, l.with(worker)...))
			furthest := time.Time{}
			for _, id := range ids[0] {
				p, err := l.layout.Unpack(id)
				if err != nil || p.Worker != worker {
					t.Fatalf("ID %d has the parts %+v, %v, want worker %d", id, p, err, worker)
				}
				at := l.layout.TimeOf(id)
				if at.Before(began.Add(-time.Second)) {
					t.Fatalf("ID %d is from %v, before the run at %v", id, at, began)
				}
				if at.After(furthest) {
					furthest = at
				}
			}
			if furthest.After(ended.Add(l.ahead)) {
				t.Errorf("an ID is from %v, and the last was made before %v", furthest, ended)
			}
		})
	}
}
