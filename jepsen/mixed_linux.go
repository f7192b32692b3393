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

// nextVersion is not empty in a build of the harness that knows the commands of the next version. Mixed runs need
// such a build. The linker sets the variable.
var nextVersion string

// harness returns the path of the build of this program that can run p: the one in the directory programs if p is
// mixed and this build does not know the next version, else this one.
func harness(p schedule.Plan, programs string) (string, error) {
	if p.Mixed && nextVersion == "" {
		return run.Harness(programs), nil
	}
	return os.Executable()
}

// checkMixed builds the harness of the next version, and judges a run again with it.
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
		return fmt.Errorf("run harness of the next version: %w", err)
	}
	return nil
}
