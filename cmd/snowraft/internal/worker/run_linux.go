package worker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/internal/contain"
	"github.com/snowraft/snowraft/internal/deadline"
)

// look is the longest time between two readings of the clock.
const look = 50 * time.Millisecond

// killTimeout is the time for which a killed command may not have ended. Then only the exit of this process can help, if it is
// the first one of a container.
const killTimeout = 5 * time.Second

// forwarded are the signals that the command gets. SIGCONT continues a command that the terminal stopped. gunicorn takes SIGTTIN
// and SIGTTOU as commands.
var forwarded = []unix.Signal{
	unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGUSR1, unix.SIGUSR2, unix.SIGALRM, unix.SIGTERM, unix.SIGCONT, unix.SIGWINCH, unix.SIGTSTP,
	unix.SIGTTIN, unix.SIGTTOU,
}

// wrapper holds a worker and runs a command with it.
type wrapper struct {
	app     *cli.App
	set     settings
	args    []string
	holds   leases
	signals chan os.Signal
	watch   *watch
	clock   *deadline.Clock
	child   *contain.Child

	ended  bool           // a signal ended the command, or the wait for a worker failed
	ending string         // reason why the lease ends the command; empty if it does not
	last   contain.Report // the report of the command's end
}

// guard runs the guard of a command.
func guard(args []string) error { return contain.Guard(args) }

// run runs a command with a worker, and restarts it if the settings say so.
func run(ctx context.Context, a *cli.App, r *cli.Remote, s settings, args []string) error {
	signals := make(chan os.Signal, 16)
	for _, s := range forwarded {
		if !signal.Ignored(s) { // nohup ignores SIGHUP
			signal.Notify(signals, s)
		}
	}
	for s := unix.Signal(35); s <= 64; s++ { // signals of real time
		signal.Notify(signals, s)
	}
	defer signal.Stop(signals)
	seen := &watch{version: a.Version}
	if s.httpAddr != "" {
		end, err := seen.serve(s.httpAddr)
		if err != nil {
			return err
		}
		defer end()
	}
	// The kernel kills the guard when the thread that started it exits.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var waits pauses
	for {
		began := deadline.Now().Mono
		w := &wrapper{app: a, set: s, args: args, signals: signals, watch: seen}
		code, err := w.live(ctx, r)
		if s.restart != restartAlways || w.ended || w.child == nil || w.last.Failure != "" {
			return result(code, err)
		}
		pause := waits.next(deadline.Now().Mono - began)
		if err == nil {
			err = fmt.Errorf("the command exited with code %d", code)
		}
		a.Warn("%v; restart in %v", err, pause)
		if code := w.rest(pause); code != 0 {
			return result(code, nil)
		}
	}
}

// result returns the error that makes the program exit with a code.
func result(code int, err error) error {
	if code == 0 && err == nil {
		return nil
	}
	return cli.Exit(code, err)
}

// ends reports whether a signal ends a process.
func ends(s os.Signal) bool {
	return s == unix.SIGINT || s == unix.SIGTERM || s == unix.SIGQUIT || s == unix.SIGHUP
}

// killedBy returns the exit code of a process that a signal ended.
func killedBy(s os.Signal) int { return 128 + int(s.(unix.Signal)) } //nolint:forcetypeassert // all signals have this type

// live leases a worker and runs the command once.
func (w *wrapper) live(ctx context.Context, r *cli.Remote) (code int, err error) {
	if code, err := w.acquire(ctx, r); code != 0 || err != nil {
		w.ended = true
		return code, err
	}
	return w.supervise(r.Timeout)
}

// acquire waits for the workers or a signal.
func (w *wrapper) acquire(ctx context.Context, r *cli.Remote) (code int, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	held := make(chan error, 1)
	go func() {
		var err error
		w.holds, err = lease(ctx, r.Client(), w.set, w.app)
		held <- err
	}()
	for {
		select {
		case err := <-held:
			if err != nil {
				w.give(r.Timeout)
				return cli.ExitFailed, cli.Worded(err)
			}
			w.watch.change(func(s *watch) { s.holds = w.holds })
			return 0, nil
		case s := <-w.signals:
			if ends(s) {
				cancel()
				<-held //nolint:errcheck // the signal is the reason
				w.give(time.Second)
				return killedBy(s), nil
			}
		}
	}
}

// rules returns the window and its margins.
func (w *wrapper) rules() deadline.Rules {
	from, until := w.holds.window()
	return deadline.Rules{
		From: time.Duration(from.UnixNano()), Until: time.Duration(until.UnixNano()),
		Back: w.set.back, Ahead: w.set.lead, Offset: w.holds[0].MaxClockOffset(), Stop: w.set.stopTimeout,
	}
}

// supervise runs the command until all its processes have ended, and ends the lease.
func (w *wrapper) supervise(timeout time.Duration) (code int, err error) {
	rules := w.rules()
	if margin := rules.Back + rules.Ahead + rules.Offset + rules.Stop; rules.Until-rules.From <= margin {
		w.give(timeout)
		return cli.ExitFailed, fmt.Errorf("the window of %v is shorter than --stop-timeout, --ahead, --clock-back and the cluster's clock offset, %v together; "+
			"shorten them, or raise max-window of the cluster", rules.Until-rules.From, margin)
	}
	w.clock, err = deadline.Watch()
	if err != nil {
		w.give(timeout)
		return cli.ExitFailed, err
	}
	defer w.clock.Close()
	n := numbersOf(w.holds[0])
	written, err := w.set.write(w.holds)
	if err != nil {
		w.give(timeout)
		return cli.ExitFailed, err
	}
	defer written.remove()
	w.clock.Verdict(rules)
	w.child, err = contain.Start(contain.Command{
		Guard: []string{"worker", "guard", "--"}, Args: w.set.arguments(w.args, n), Env: w.set.environment(n),
		Rules: rules, Weak: w.set.weak,
	})
	if err != nil {
		w.give(timeout)
		return cli.ExitFailed, fmt.Errorf("the command was not started, because its descendants could outlive it (%w); "+
			"allow a PID namespace or a control group, be the first process of a container, or set --weak-containment", err)
	}
	gone := w.child.Gone()
	var overdue <-chan time.Time
	ticker := time.NewTicker(look)
	defer ticker.Stop()
	for reports := w.child.Reports(); ; {
		if now := w.rules(); now != rules {
			rules = now
			w.child.Extend(rules)
		}
		switch verdict, why := w.clock.Verdict(rules); verdict {
		case deadline.Kill:
			w.noteEnding(why)
			w.child.Kill()
			if overdue == nil {
				overdue = time.After(killTimeout)
			}
		case deadline.Stop:
			w.noteEnding(why)
			w.child.Stop()
		case deadline.Early, deadline.Run:
		}
		if w.holds.lost() {
			w.noteEnding("the worker was lost")
			w.child.Stop()
		}
		select {
		case r, ok := <-reports:
			if !ok {
				reports = nil
			}
			w.handleReport(r)
		case <-gone:
			for r := range w.child.Reports() {
				w.handleReport(r)
			}
			return w.finish(timeout)
		case s := <-w.signals:
			w.ended = w.ended || ends(s)
			if s == unix.SIGCONT {
				w.child.Continue()
			} else {
				w.child.Signal(s.(unix.Signal)) //nolint:forcetypeassert // all signals have this type
			}
		case <-overdue:
			w.holds.abandon()
			return ExitLease, fmt.Errorf("worker %d of layout %s: %s; processes of the command survived the kill", w.holds[0].Worker(), w.set.layout, w.ending)
		case <-w.clock.Steps():
		case <-ticker.C:
		}
	}
}

// noteEnding keeps the first reason why the lease ends the command.
func (w *wrapper) noteEnding(why string) {
	if w.ending == "" {
		w.ending = why
		w.watch.change(func(s *watch) {
			s.up = false
			s.ended++
		})
	}
}

// handleReport handles a report of the guard.
func (w *wrapper) handleReport(r contain.Report) {
	switch {
	case r.Ending != "":
		w.noteEnding(r.Ending)
	case r.Started != 0:
		w.watch.change(func(s *watch) {
			s.up = w.ending == ""
			s.starts++
		})
	case r.Exited, r.Failure != "":
		w.last = r
		w.watch.change(func(s *watch) { s.up = false })
	case r.Paused != 0:
		_ = unix.Kill(os.Getpid(), unix.SIGSTOP) // the shell continues this process, which then judges the clock
	}
}

// finish ends the lease of a command whose processes have ended, and returns its exit code.
func (w *wrapper) finish(timeout time.Duration) (code int, err error) {
	contain.TakeTerminal()
	w.watch.change(func(s *watch) { s.up, s.holds = false, nil })
	w.release(timeout)
	switch {
	case w.ending != "":
		text := fmt.Sprintf("worker %d of layout %s: %s; the command was ended", w.holds[0].Worker(), w.set.layout, w.ending)
		if p := w.holds.problem(); p != nil {
			text += ": " + strings.TrimPrefix(cli.Worded(p).Error(), "client: ")
		}
		return ExitLease, errors.New(text)
	case w.last.Failure != "":
		return w.last.Code, errors.New(w.last.Failure)
	case !w.last.Exited:
		return ExitLease, errors.New("the guard was killed, and the command with it")
	default:
		return w.last.Code, nil
	}
}

// release ends the leases. It returns the rest of the windows if the times of all IDs are known.
func (w *wrapper) release(timeout time.Duration) {
	rules := w.rules()
	w.clock.Verdict(rules) // the last processes may have seen a step that this one has not
	last := w.clock.Last(deadline.Now(), rules, tick(w.holds[0].Layout()))
	if w.clock.Stepped() || !w.holds.allow(last) {
		w.holds.abandon()
		return
	}
	w.give(timeout)
}

// give returns the rest of the windows after the times that were allowed.
func (w *wrapper) give(timeout time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	w.holds.close(ctx, w.app)
}
