package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// patience is the time limit for a process to be ready, and to exit after SIGTERM.
const patience = 2 * time.Minute

// child is a process that this process has started.
type child struct {
	cmd  *exec.Cmd
	log  string // file of its output
	done chan error
}

// start starts a program in a directory of its own, with additional environment variables.
// If lines is not nil, it is called with each line of standard output until it returns false.
// All other output goes to a log.
func (e *env) start(name string, environ []string, lines func(string) bool, program string, args ...string) (*child, error) {
	dir, err := e.temp(name)
	if err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()                                                           // the process has its own
	c := &child{cmd: exec.Command(program, args...), log: log.Name(), done: make(chan error, 1)} //nolint:gosec // a program of this repository
	c.cmd.Dir, c.cmd.Stdout, c.cmd.Stderr, c.cmd.SysProcAttr = dir, log, log, withParent()
	c.cmd.Env = append(os.Environ(), environ...)
	var out io.ReadCloser
	if lines != nil {
		c.cmd.Stdout = nil
		if out, err = c.cmd.StdoutPipe(); err != nil {
			return nil, err
		}
	}
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	if lines != nil {
		scanner := bufio.NewScanner(out)
		for scanner.Scan() && lines(scanner.Text()) {
		}
	}
	go func() { c.done <- c.cmd.Wait() }()
	return c, nil
}

// stop sends SIGTERM to the process and waits until it exits.
func (c *child) stop() error {
	_ = c.cmd.Process.Signal(syscall.SIGTERM) // the process may have exited before
	select {
	case err := <-c.done:
		if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGTERM {
			return nil
		}
		return err
	case <-time.After(patience):
		_ = c.cmd.Process.Kill()
		return errors.Join(fmt.Errorf("%s did not stop after SIGTERM", filepath.Base(c.cmd.Path)), <-c.done)
	}
}

// kill sends SIGKILL to the process and waits until it exits.
func (c *child) kill() error {
	if err := c.cmd.Process.Kill(); err != nil {
		return err
	}
	err := <-c.done
	c.done <- nil // lets stop return at once
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL {
		return nil
	}
	return fmt.Errorf("%s exited unexpectedly: %w", filepath.Base(c.cmd.Path), err)
}

// ended returns an error with the log of the process if it has exited.
func (c *child) ended() error {
	select {
	case err := <-c.done:
		c.done <- err
		if err == nil {
			err = errors.New("exit code 0")
		}
		text, _ := os.ReadFile(c.log)
		return fmt.Errorf("%s ended: %w: %s", filepath.Base(c.cmd.Path), err, strings.TrimSpace(string(text)))
	default:
		return nil
	}
}

// await calls ready until it succeeds or the process exits.
func (c *child) await(ctx context.Context, ready func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	err := until(ctx, func(ctx context.Context) error {
		if ended := c.ended(); ended != nil {
			cancel()
			return ended
		}
		return ready(ctx)
	})
	if err != nil {
		return fmt.Errorf("%s is not ready: %w", filepath.Base(c.cmd.Path), err)
	}
	return nil
}

// until calls ready until it succeeds. Its error is the error of the last call.
func until(ctx context.Context, ready func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		err := ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// closers is a list of functions that close or stop what was started. close calls them in reverse order.
type closers []func() error

func (c *closers) add(f func() error) { *c = append(*c, f) }

func (c *closers) close(err *error) {
	for _, f := range slices.Backward(*c) {
		*err = errors.Join(*err, f())
	}
}
