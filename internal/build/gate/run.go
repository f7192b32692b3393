package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// runner runs first the jobs that must be alone, one after the other. Three workers then take the jobs of a lane each, and after
// that those that wait or compute. A job that fails does not stop the next.
type runner struct {
	root string
	env  []string
	logs string // directory of the logs; empty: the output of a job is printed at its end

	mu  sync.Mutex // guards out
	out io.Writer
}

func (r *runner) printf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintf(r.out, format, args...)
}

// verdict is the result of a job.
type verdict struct {
	name     string
	took     time.Duration
	cpu      time.Duration // processor time of the commands and of the processes that they waited for
	checks   int
	unit     string
	failed   bool
	reasons  []string // lines that explain failures
	warnings []string
}

func (v verdict) String() string {
	state := "ok"
	if v.failed {
		state = "FAILED"
	}
	return fmt.Sprintf("%-10s %-6s %5.0f s  %5.0f s cpu  %5d %s", v.name, state, v.took.Seconds(), v.cpu.Seconds(), v.checks, v.unit)
}

// all runs jobs and prints their verdicts.
func (r *runner) all(ctx context.Context, jobs []job) error {
	began := time.Now()
	verdicts, errs := make([]verdict, len(jobs)), make([]error, len(jobs))
	queues := map[lane]chan int{}
	for _, l := range []lane{alone, computes, waits, packs} {
		queues[l] = make(chan int, len(jobs))
		for i, j := range jobs {
			if j.part.lane == l {
				queues[l] <- i
			}
		}
		close(queues[l])
	}
	work := func(l lane) {
		for i := range queues[l] {
			if ctx.Err() == nil {
				verdicts[i], errs[i] = r.once(ctx, jobs[i])
			}
		}
	}
	work(alone)
	var workers sync.WaitGroup
	for _, l := range []lane{computes, packs, waits} {
		workers.Go(func() {
			work(l)
			work(waits)
			work(computes)
		})
	}
	workers.Wait()
	if err := errors.Join(errors.Join(errs...), ctx.Err()); err != nil {
		return err
	}
	failed := 0
	r.printf("\n=== parts\n")
	for _, v := range verdicts {
		r.printf("%s\n", v)
		if v.failed {
			failed++
		}
	}
	for _, v := range verdicts {
		for _, reason := range v.reasons {
			r.printf("=== %s: %s\n", v.name, reason)
		}
		for _, w := range v.warnings {
			r.printf("=== WARNING: %s: %s\n", v.name, w)
		}
	}
	r.printf("=== %.0f s in all\n%d passed, %d failed\n", time.Since(began).Seconds(), len(jobs)-failed, failed)
	if failed > 0 || len(jobs) == 0 {
		return errFailed
	}
	return nil
}

// once runs a job. Of a nightly job that passed before at the same commit, it returns the verdict of that time.
func (r *runner) once(ctx context.Context, j job) (verdict, error) {
	if r.logs == "" {
		r.printf("=== %s begins (%s)\n", j.part.name, j.reason)
		var text bytes.Buffer
		v := r.run(ctx, j, &text)
		r.printf("\n%s=== %s\n", text.String(), v)
		return v, nil
	}
	if err := os.MkdirAll(r.logs, 0o750); err != nil {
		return verdict{}, err
	}
	done := filepath.Join(r.logs, j.part.name+".ok")
	if line, err := os.ReadFile(done); err == nil {
		r.printf("%s (earlier)\n", strings.TrimSpace(string(line)))
		return verdict{name: j.part.name, unit: "(earlier)"}, nil
	}
	log, err := os.Create(filepath.Join(r.logs, j.part.name+".log"))
	if err != nil {
		return verdict{}, err
	}
	defer func() { _ = log.Close() }()
	v := r.run(ctx, j, log)
	if ctx.Err() != nil {
		return v, ctx.Err()
	}
	r.printf("%s  %s\n", v, log.Name())
	if v.failed || strings.HasSuffix(r.logs, "-changed") {
		return v, nil
	}
	return v, os.WriteFile(done, []byte(v.String()+"\n"), 0o644) //nolint:gosec // no secret
}

// notChecked is the exit code of a command that could not check anything, for want of something outside of this machine
// (EX_TEMPFAIL of sysexits.h).
const notChecked = 75

// run runs the commands of a job. A job without a check has failed.
func (r *runner) run(ctx context.Context, j job, out io.Writer) verdict {
	v := verdict{name: j.part.name, unit: "commands"}
	began := time.Now()
	for _, c := range j.commands {
		fmt.Fprintf(out, "$ %s\n", c)
		checks := newCounter(out)
		cpu, err := r.command(ctx, c, checks)
		v.cpu += cpu
		checks.end(err != nil)
		switch {
		case c.counts:
			v.checks, v.unit = v.checks+checks.passed, "tests"
			if checks.passed == 0 && !checks.none && err == nil {
				err = errors.New("nothing ran")
			}
		case err == nil:
			v.checks++
		}
		if err == nil {
			continue
		}
		fmt.Fprintf(out, "%s: %v\n", c, err)
		var exit *exec.ExitError
		if c.warns || errors.As(err, &exit) && exit.ExitCode() == notChecked {
			v.warnings = append(v.warnings, fmt.Sprintf("%s: %v", c, err))
			v.checks++
			continue
		}
		v.failed = true
		v.reasons = append(v.reasons, fmt.Sprintf("%s: %v", c, err))
		v.reasons = append(v.reasons, checks.reasons()...)
	}
	v.took = time.Since(began)
	return v
}

// command runs a command in a process group of its own, which ends with ctx, and returns the processor time that it used.
func (r *runner) command(ctx context.Context, c command, out io.Writer) (time.Duration, error) {
	cmd := exec.CommandContext(ctx, c.args[0], c.args[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = r.root, append(r.env, c.env...), out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	err := cmd.Run()
	if cmd.ProcessState == nil { // not started
		return 0, err
	}
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), err
}
