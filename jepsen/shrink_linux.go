package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/snowraft/snowraft/jepsen/schedule"
)

// shrink repeats a failed run with fewer and fewer of its faults. It writes the smallest schedule that still fails to
// smallest.jsonl in the run's directory.
func (f *runFlags) shrink(ctx context.Context, out io.Writer) error {
	p, err := schedule.Read(scheduleFile(f.out))
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	tries := 0
	smallest, err := schedule.Shrink(p, func(p schedule.Plan) (bool, error) {
		tries++
		dir := filepath.Join(f.out, fmt.Sprintf("shrink-%d", tries))
		_, _ = fmt.Fprintf(out, "shrink %d: %d faults ... ", tries, len(p.Events))
		failed, err := f.fails(ctx, self, dir, p)
		_, _ = fmt.Fprintln(out, map[bool]string{true: "FAIL", false: "no failure"}[failed])
		return failed, err
	})
	file := filepath.Join(f.out, "smallest.jsonl")
	if err := errors.Join(err, schedule.Write(file, smallest)); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "smallest failing schedule: %d of %d faults, in %s\n", len(smallest.Events), len(p.Events), file)
	return err
}

// fails runs a plan in another process of this program, and reports whether the run failed.
func (f *runFlags) fails(ctx context.Context, self, dir string, p schedule.Plan) (bool, error) {
	if err := schedule.Write(dir+".jsonl", p); err != nil {
		return false, err
	}
	args := []string{"run", "--replay", dir + ".jsonl", "--out", dir, "--" + programsFlag, cmp.Or(f.programs, programs(f.out))}
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = time.Minute
	said, err := cmd.CombinedOutput()
	exit, ok := errors.AsType[*exec.ExitError](err)
	switch {
	case err == nil, ok && exit.ExitCode() == exitInvalid:
		return false, nil
	case ok && exit.ExitCode() == exitFail:
		return true, nil
	default:
		return false, fmt.Errorf("run %s: %w: %s", dir, err, said)
	}
}
