package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"

	"github.com/snowraft/snowraft/jepsen/run"
	"github.com/snowraft/snowraft/jepsen/schedule"
)

// nextVersion is not empty in a build of the harness that knows the commands of the next version, which mixed runs
// need. The linker sets it.
var nextVersion string

// harness returns the build of this program that can make a run with these programs.
func harness(p schedule.Plan, programs string) (string, error) {
	if p.Mixed && nextVersion == "" {
		return run.Harness(programs), nil
	}
	return os.Executable()
}

// checkMixed judges a run again, by a build of the harness that can.
func checkMixed(ctx context.Context, dir string) error {
	programs, err := os.MkdirTemp("", "snowraft-jepsen")
	if err != nil {
		return err
	}
	defer os.RemoveAll(programs) //nolint:errcheck // temporary
	if err := run.BuildHarness(ctx, programs); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, run.Harness(programs), "check", dir)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	err = cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exitStatus(exit.ExitCode())
	} else if err != nil {
		return fmt.Errorf("the harness of the next version: %w", err)
	}
	return nil
}
