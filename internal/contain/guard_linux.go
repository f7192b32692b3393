package contain

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/snowraft/snowraft/internal/deadline"
)

// look is the longest time between two readings of the clock.
const look = 50 * time.Millisecond

// guard starts a command when its window has begun, and ends it before its window ends.
type guard struct {
	args    []string
	orders  <-chan order
	reports *os.File
	means   means
	rules   deadline.Rules
	clock   *deadline.Clock

	foreground bool
	terminal   *os.File // nil without one
	command    int      // process ID; 0 before the start
	stopping   bool
}

// Guard is the process of a guard that [Start] started. It returns when the command has ended.
func Guard(args []string) error {
	runtime.LockOSThread()
	unix.CloseOnExec(ordersFile)
	unix.CloseOnExec(reportsFile)
	g := guard{args: args, orders: receive[order](os.NewFile(ordersFile, "orders")), reports: os.NewFile(reportsFile, "reports")}
	first, ok := <-g.orders
	if !ok || first.Rules == nil {
		return errors.New("this command is started by \"snowraft worker run\" only")
	}
	g.means, g.rules, g.foreground = first.Means, *first.Rules, first.Foreground
	clock, err := deadline.Watch()
	if err == nil {
		defer clock.Close()
		g.clock = clock
		err = g.means.prepare()
	}
	if err != nil {
		send(g.reports, Report{Failure: err.Error()})
		return err
	}
	send(g.reports, Report{Ready: true})
	g.run()
	return nil
}

// run guards until the command has ended, the starter has ended, or the command must be killed.
func (g *guard) run() {
	children, others := make(chan os.Signal, 1), make(chan os.Signal, 1)
	signal.Notify(children, unix.SIGCHLD)
	// The starter passes on signals. Those of the terminal also reach the guard, which must survive them.
	signal.Notify(others, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGHUP, unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU, unix.SIGPIPE, unix.SIGUSR1, unix.SIGUSR2)
	ticker := time.NewTicker(look)
	defer ticker.Stop()
	defer g.means.end()
	for !g.act() {
		select {
		case o, ok := <-g.orders:
			if !ok {
				return
			}
			g.obey(o)
		case <-children:
			if g.reap() {
				return
			}
		case <-g.clock.Steps():
		case <-ticker.C:
		}
	}
}

// act does what the clock demands, and reports whether the guard must exit, which kills the command.
func (g *guard) act() (end bool) {
	verdict, why := g.clock.Verdict(g.rules)
	switch verdict {
	case deadline.Run:
		if g.command == 0 && !g.stopping {
			return !g.start()
		}
	case deadline.Stop:
		g.stop(why)
	case deadline.Kill:
		send(g.reports, Report{Ending: why})
		return true
	case deadline.Early:
	}
	return g.stopping && g.command == 0
}

func (g *guard) obey(o order) {
	switch {
	case o.Rules != nil:
		g.rules = *o.Rules
	case o.Stop:
		g.stop("")
	case o.Continue:
		g.proceed(o.Foreground)
	case o.Signal != 0 && g.command > 0:
		_ = unix.Kill(g.command, o.Signal)
	case o.Signal == unix.SIGINT, o.Signal == unix.SIGTERM, o.Signal == unix.SIGQUIT, o.Signal == unix.SIGHUP:
		g.stopping = true // the command never starts
		send(g.reports, Report{Exited: true, Code: 128 + int(o.Signal)})
	}
}

// stop requests the command to stop.
func (g *guard) stop(why string) {
	if g.stopping {
		return
	}
	g.stopping = true
	if why != "" {
		send(g.reports, Report{Ending: why})
	}
	if g.command > 0 {
		_ = unix.Kill(g.command, unix.SIGTERM)
		_ = unix.Kill(-g.command, unix.SIGCONT) // a stopped process gets the signal only then
	}
}

// proceed continues a stopped command, if its window has not ended.
func (g *guard) proceed(foreground bool) {
	if g.command == 0 || g.act() {
		return // the next act kills
	}
	if foreground && g.terminal != nil {
		_ = unix.IoctlSetPointerInt(int(g.terminal.Fd()), unix.TIOCSPGRP, g.command)
	}
	_ = unix.Kill(-g.command, unix.SIGCONT)
}

// start starts the command. It is the leader of a process group.
func (g *guard) start() bool {
	path, err := exec.LookPath(g.args[0])
	if err == nil {
		attr := &syscall.SysProcAttr{Setpgid: true}
		if g.terminal, _ = os.OpenFile("/dev/tty", os.O_RDWR, 0); g.terminal != nil && g.foreground {
			attr.Foreground, attr.Ctty = true, int(g.terminal.Fd())
		}
		err = g.means.Group.around(func() (err error) {
			g.command, err = syscall.ForkExec(path, g.args, &syscall.ProcAttr{Env: os.Environ(), Files: []uintptr{0, 1, 2}, Sys: attr})
			return err
		})
		if err != nil {
			err = fmt.Errorf("%s: %w", path, err)
		}
	}
	if err != nil {
		send(g.reports, Report{Failure: err.Error(), Code: StartCode(err)})
		return false
	}
	signal.Ignore(unix.SIGTTOU) // the guard gives the terminal to the command, from the background
	send(g.reports, Report{Started: g.command})
	return true
}

// StartCode returns the exit code for a command that could not be started: 127 if it does not exist, otherwise 126.
func StartCode(err error) int {
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) {
		return 127
	}
	return 126
}

// reap waits for children that have ended or stopped, and reports whether the command has ended.
func (g *guard) reap() (ended bool) {
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, unix.WNOHANG|unix.WUNTRACED, nil)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil || pid <= 0:
			return ended
		case pid != g.command:
		case status.Stopped():
			if s := status.StopSignal(); s != unix.SIGSTOP {
				send(g.reports, Report{Paused: s})
			}
		default:
			ended = true
			code := status.ExitStatus()
			if status.Signaled() {
				code = 128 + int(status.Signal())
			}
			send(g.reports, Report{Exited: true, Code: code})
		}
	}
}
