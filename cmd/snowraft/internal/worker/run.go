package worker

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/client"
	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/snowflake"
)

// ExitLease is the exit code of "worker run" if the end of the lease ended the command: EX_TEMPFAIL of sysexits.h.
const ExitLease = 75

// The values of --restart.
const (
	restartNever  = "never"
	restartAlways = "always"
)

// settings are the flags of "worker run".
type settings struct {
	layout, holder          string
	envWorker, envDC, file  string
	args                    []string
	stopTimeout, back, lead time.Duration
	weak                    bool
	restart                 string
}

func newRun(a *cli.App) *cobra.Command {
	s := settings{restart: restartNever, stopTimeout: 10 * time.Second, back: 5 * time.Millisecond}
	cmd := &cobra.Command{
		Use:   "run COMMAND [ARGUMENT]...",
		Short: "Run a command with a worker of its own",
		Long: `Run a command with a worker of its own, for programs that make IDs with a library
that needs a unique worker number. The command gets the number in the environment, in an
argument or in a file. It starts when the window of the worker has begun, and its window is extended while it
runs. Without an extension, the command gets SIGTERM --stop-timeout before the window
ends, and is killed in time. So no other holder makes the same IDs. Linux only.

All descendants of the command end with it. If this is impossible, because the process
is neither the first one of a container nor allowed to make a PID namespace, nothing is
started without --weak-containment. A second process, the guard, ends the command if
this process is stopped or killed.

Signals are passed on. Exit codes: that of the command, or 128 plus the number of the
signal that killed it; 75 if the end of the lease ended it; 126 if it cannot be
started, 127 if it does not exist; 1, 2 and 3 if nothing was started.`,
		Example: `  snowraft worker run --env-worker WORKER -- ./app
  snowraft worker run --env-datacenter DC --env-worker WORKER -- java -jar a.jar`,
		Args: someCommand,
	}
	cmd.Flags().SetInterspersed(false)
	a.AddLayoutFlag(cmd, &s.layout).Usage = "name of the layout"
	cli.AddSetting(cmd, "Worker", "holder", cli.WordsValue(&s.holder, "NAME"), "stable name of the holder; the default is the host name")
	cli.AddFlag(cmd, "Worker", "env-worker", "", variableValue(&s.envWorker), "environment variable that gets the number of the worker")
	cli.AddFlag(cmd, "Worker", "env-datacenter", "", variableValue(&s.envDC), "environment variable that gets the datacenter of the layout")
	cli.AddFlag(cmd, "Worker", "arg", "", argumentsValue(&s.args), "argument to append, with {worker}, {datacenter} and {layout} replaced; can be repeated")
	cli.AddFlag(cmd, "Worker", "file", "", cli.FileValue(&s.file), "file to write WORKER=, DATACENTER= and LAYOUT= into before the start")
	cli.AddFlag(cmd, "End", "stop-timeout", "", cli.DurationValue(&s.stopTimeout, 0, time.Hour), "time between SIGTERM and the kill")
	cli.AddFlag(cmd, "End", "ahead", "", cli.DurationValue(&s.lead, 0, time.Hour), "time by which the library runs ahead of the clock")
	cli.AddFlag(cmd, "End", "clock-back", "", cli.DurationValue(&s.back, 0, time.Minute), "step back of the clock that the library waits out")
	cli.AddFlag(cmd, "End", "restart", "", cli.ChoiceValue(&s.restart, restartNever, restartAlways), "restart of a command that has ended, with another lease")
	cli.AddFlag(cmd, "End", "weak-containment", "", cli.SwitchValue(&s.weak), "start the command even if its descendants can outlive it").NoOptDefVal = "true"
	dial := a.AddConnection(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := cli.Resolve(cmd.Flags(), a.Env, nil); err != nil {
			return err
		}
		r, err := dial()
		if err != nil {
			return err
		}
		defer r.Close()
		return run(cmd.Context(), a, r, s, args)
	}
	return cmd
}

// someCommand checks that there is a command to run.
func someCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cli.Usagef("missing argument COMMAND; %s takes a command after --", cli.Below(cmd))
	}
	return nil
}

// variableValue returns a value that accepts the name of an environment variable.
func variableValue(p *string) *cli.Value {
	v := cli.TextValue(p, "NAME")
	v.Expects = "the name of an environment variable"
	some := v.Parse
	v.Parse = func(s string) bool { return some(s) && !strings.ContainsAny(s, "= ") }
	return v
}

// argumentsValue returns a value that accepts an argument each time that it is set.
func argumentsValue(p *[]string) *cli.Value {
	return &cli.Value{Kind: "TEXT", Expects: "an argument", Text: func() string { return strings.Join(*p, " ") }, Parse: func(s string) bool {
		*p = append(*p, s)
		return true
	}}
}

// numbers hold the text of what a command is configured with.
type numbers struct{ worker, datacenter, layout string }

func numbersOf(h *client.HeldWorker) numbers {
	spec := h.Layout().Spec()
	return numbers{worker: cli.Decimal(h.Worker()), datacenter: cli.Decimal(spec.Datacenter), layout: spec.Name}
}

// environment returns the variables for the command, after those of this process.
func (s settings) environment(n numbers) (added []string) {
	if s.envWorker != "" {
		added = append(added, s.envWorker+"="+n.worker)
	}
	if s.envDC != "" {
		added = append(added, s.envDC+"="+n.datacenter)
	}
	return added
}

// arguments returns the command with its arguments and those of --arg.
func (s settings) arguments(command []string, n numbers) []string {
	replace := strings.NewReplacer("{worker}", n.worker, "{datacenter}", n.datacenter, "{layout}", n.layout)
	return append(slices.Clone(command), cli.Map(replace.Replace, s.args)...)
}

// write writes the file of --file, if there is one. A reader sees the whole file or none of it.
func (s settings) write(n numbers) error {
	if s.file == "" {
		return nil
	}
	f, err := os.CreateTemp(filepath.Dir(s.file), filepath.Base(s.file)+".*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }() // after the renaming, there is none
	_, err = fmt.Fprintf(f, "WORKER=%s\nDATACENTER=%s\nLAYOUT=%s\n", n.worker, n.datacenter, n.layout)
	if err := errors.Join(err, f.Chmod(0o644), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), s.file)
}

// clean removes the file of --file, whose numbers no longer belong to a process.
func (s settings) clean() {
	if s.file != "" {
		_ = os.Remove(s.file)
	}
}

// tick returns the length of a tick.
func tick(l *snowflake.Layout) time.Duration {
	return time.Duration(l.Spec().UnitMillis) * time.Millisecond
}

// newGuard returns the hidden command that "worker run" starts.
func newGuard() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "guard COMMAND [ARGUMENT]...",
		Short: "Guard the command of worker run",
		Long: `Guard the command of worker run, which starts this process and gives it its orders. Do not
start it yourself.`,
		Example: `  snowraft worker run -- ./app`,
		Args:    someCommand,
		Hidden:  true,
		RunE:    func(_ *cobra.Command, args []string) error { return guard(args) },
	}
	cmd.Flags().SetInterspersed(false)
	return cmd
}
