package worker

import (
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/internal/names/nfc"
)

// ExitLease is the exit code of "worker run" if the end of the lease ended the command: EX_TEMPFAIL of sysexits.h.
const ExitLease = 75

// maxCount is the greatest --count.
const maxCount = 1024

// The values of --restart.
const (
	restartNever  = "never"
	restartAlways = "always"
)

// settings are the flags of "worker run".
type settings struct {
	places

	layout, holder          string
	below                   uint64
	count                   int
	file, dir               string
	stopTimeout, back, lead time.Duration
	weak                    bool
	restart                 string
	httpAddr                string
}

func newRun(a *cli.App) *cobra.Command {
	s := settings{count: 1, restart: restartNever, stopTimeout: 10 * time.Second, back: 5 * time.Millisecond}
	cmd := &cobra.Command{
		Use:   "run COMMAND [ARGUMENT]...",
		Short: "Run a command with a worker of its own",
		Long: `Run a command with a worker of its own, for programs that make IDs with a library
that needs a unique worker number. The command gets the number in the environment, in an
argument or in a file. It starts when the window of the worker has begun, and its window is extended while it
runs. Without an extension, the command gets SIGTERM --stop-timeout before the window
ends, and is killed in time. So no other holder makes the same IDs. Linux only.

All descendants of the command end with it. If this is impossible, because the process
is not the first one of a container, and may make neither a PID namespace nor a control
group, nothing is started without --weak-containment. A second process, the guard, ends the command if
this process is stopped or killed.

The processes of a forking server all see one environment, so --env-worker is unsafe
for it: use --count and "snowraft worker claim".

Signals are passed on. Exit codes:
  75          the end of the lease ended the command; one line has the reason
  126, 127    the command cannot be started, does not exist
  1, 2, 3     nothing was started; see "snowraft help exit-codes"
  others      that of the command, or 128 plus the number of the signal that
              killed it`,
		Example: `  snowraft worker run --env-worker WORKER -- ./app
  snowraft worker run --env-datacenter DC --env-worker WORKER -- java -jar a.jar`,
		Args: someCommand,
	}
	cmd.Flags().SetInterspersed(false)
	a.AddLayoutFlag(cmd, &s.layout).Usage = "name of the layout"
	cli.AddSetting(cmd, "Worker", "holder", cli.WordsValue(&s.holder, "NAME"), "stable name of the holder; the default is the host name")
	cli.AddFlag(cmd, "Worker", "below", "", cli.UintValue(&s.below, 0), "lease a worker below this number, for a library with fewer workers; 0 for any")
	addPlaces(cmd, &s.places)
	cli.AddFlag(cmd, "Worker", "file", "", cli.FileValue(&s.file), "file to write WORKER=, DATACENTER=, LAYOUT= and SPLIT= into before the start")
	cli.AddFlag(cmd, "Worker", "count", "", cli.IntValue(&s.count, 1, maxCount), "workers to lease, for the processes of a forking server; with --dir")
	cli.AddFlag(cmd, "Worker", "dir", "", cli.TextValue(&s.dir, "DIRECTORY"), "directory to write a file for each worker into, for worker claim")
	cli.AddFlag(cmd, "End", "stop-timeout", "", cli.DurationValue(&s.stopTimeout, 0, time.Hour), "time between SIGTERM and the kill")
	cli.AddFlag(cmd, "End", "ahead", "", cli.DurationValue(&s.lead, 0, time.Hour), "time by which the library runs ahead of the clock")
	cli.AddFlag(cmd, "End", "clock-back", "", cli.DurationValue(&s.back, 0, time.Minute), "step back of the clock that the library waits out")
	cli.AddFlag(cmd, "End", "restart", "", cli.ChoiceValue(&s.restart, restartNever, restartAlways), "restart of a command that has ended, with another lease")
	cli.AddFlag(cmd, "End", "weak-containment", "", cli.SwitchValue(&s.weak), "start the command even if its descendants can outlive it").NoOptDefVal = "true"
	cli.AddFlag(cmd, "Process", "http-addr", "", cli.OptionalListenValue(&s.httpAddr), "address for /healthz, /readyz and /metrics of the lease; empty for none")
	dial := a.AddConnection(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := a.Resolve(cmd.Flags()); err != nil {
			return err
		}
		if err := s.check(); err != nil {
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

// addPlaces adds the flags of the places for the numbers of a command.
func addPlaces(cmd *cobra.Command, p *places) {
	cli.AddFlag(cmd, "Worker", "env-worker", "", variableValue(&p.envWorker), "environment variable that gets the number of the worker")
	cli.AddFlag(cmd, "Worker", "env-datacenter", "", variableValue(&p.envDC), "environment variable that gets the datacenter; of a layout without one, the upper half of the worker")
	cli.AddFlag(cmd, "Worker", "arg", "", cli.RepeatedValue(&p.args, "TEXT", "an argument", func(string) bool { return true }), "argument to append, with {worker}, {datacenter} and {layout} replaced; can be repeated")
}

// check checks flags that depend on each other.
func (s settings) check() error {
	switch {
	case s.dir == "" && s.count > 1:
		return cli.Usagef("--count needs --dir, the directory for a file for each worker")
	case s.holder != "" && nfc.CheckProcess("--holder", s.holder) != nil:
		return cli.Usagef("%v", nfc.CheckProcess("--holder", s.holder))
	case s.dir != "" && (s.file != "" || !s.none()):
		return cli.Usagef("--dir leaves no use for --file, --arg, --env-worker and --env-datacenter; give those to worker claim")
	}
	return nil
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
