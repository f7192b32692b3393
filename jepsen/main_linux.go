package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/jepsen/sandbox"
)

// exitStatus is the error of a run that was made and did not pass, or of a process in the sandbox
// that has said itself what is wrong: the exit code.
type exitStatus int

func (s exitStatus) Error() string {
	return map[exitStatus]string{exitFail: "FAIL", exitInvalid: "INVALID"}[s]
}

func execute() (code int) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if sandbox.Inside() {
		defer func() { code = sandbox.Said(code) }()
	}
	err := root().ExecuteContext(ctx)
	if s, ok := errors.AsType[exitStatus](err); ok {
		return int(s)
	}
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "jepsen:", err)
		return exitCannot
	}
	return exitPass
}

func root() *cobra.Command {
	c := &cobra.Command{
		Use:   "jepsen",
		Short: "Prove Snowraft under chaos",
		Long: `Runs real members on hosts whose network, processes, clocks and disks fail, writes
down what clients saw, and judges it.

Exit codes: 0 PASS, 1 FAIL, 2 INVALID (the run shows nothing), 3 no run could be made.`,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	c.AddCommand(runCommand(), checkCommand(), scheduleCommand(), listCommand(), mutantsCommand(), scenarioCommand(), generatorCommand(), hostileCommand(), siegeCommand())
	return c
}

var errNoRoot = errors.New("this needs root: hosts are network namespaces, and disks are mounted")

// inSandbox runs f in a sandbox: the program that prepare returns runs there, this one or another build of it. prepare
// happens before, outside.
func inSandbox(ctx context.Context, prepare func(context.Context) (program string, err error), f func(context.Context) error) error {
	if !sandbox.Inside() {
		if os.Geteuid() != 0 {
			return errNoRoot
		}
		program, err := prepare(ctx)
		if err != nil {
			return err
		}
		code, err := sandbox.Run(program)
		if err != nil {
			return err
		}
		if code != exitPass {
			return exitStatus(code) // what was wrong has been said inside
		}
		return nil
	}
	if err := sandbox.Settle(); err != nil {
		return err
	}
	return f(ctx)
}
