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

// exitStatus is an exit code as an error. The reason is printed already: by the report of a run that did not pass,
// or by the process in the sandbox.
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
		Short: "Run Snowraft under faults and judge the results",
		Long: `Run real members on hosts whose network, processes, clocks and disks fail. Clients record
all requests and responses, and checkers judge the records.

Exit codes: 0 PASS, 1 FAIL, 2 INVALID (the run shows nothing), 3 no run was possible.`,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	c.AddCommand(
		runCommand(), checkCommand(), scheduleCommand(), listCommand(), mutantsCommand(), scenarioCommand(),
		generatorCommand(), foreignCommand(), hostileCommand(), siegeCommand())
	return c
}

var errNoRoot = errors.New("not running as root: namespaces and mounts are not permitted; run as root")

// inSandbox runs f in a sandbox. Outside of the sandbox, it calls prepare and starts the program that prepare returns
// in a sandbox: this program or another build of it. Inside, it calls f.
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
			return exitStatus(code) // reason already printed inside
		}
		return nil
	}
	if err := sandbox.Settle(); err != nil {
		return err
	}
	return f(ctx)
}
