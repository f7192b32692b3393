package contain

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/snowraft/snowraft/internal/deadline"
)

// Command is a command to run under a guard.
type Command struct {
	Guard []string // the arguments of this program that run [Guard]
	Args  []string // the command and its arguments
	Env   []string
	Rules deadline.Rules
	Weak  bool // run without containment if none is possible
}

// Child is a command under its guard. Its methods are for one goroutine.
type Child struct {
	means   means
	guard   int // process ID
	orders  chan order
	ended   chan struct{} // closed when the guard was reaped
	reports <-chan Report
}

// Start starts the guard of a command, which starts the command when its window has begun. The calling thread must stay locked
// to its goroutine until the guard has ended.
func Start(c Command) (*Child, error) {
	var failures []string
	for _, m := range allMeans(c.Weak) {
		child, err := start(c, m)
		if err == nil {
			return child, nil
		}
		failures = append(failures, fmt.Sprintf("%s: %v", m.Kind, reason(err)))
	}
	return nil, errors.New(strings.Join(slices.Compact(failures), "; ")) // there are many control groups
}

// reason returns the cause of a failure to start a guard, without the random names of control groups.
func reason(err error) error {
	if path, ok := errors.AsType[*os.PathError](err); ok {
		err = path.Err
	}
	if errors.Is(err, unix.ENOSPC) {
		return errors.New("as many exist as the kernel's parameters user.max_pid_namespaces and user.max_user_namespaces allow")
	}
	return err
}

func start(c Command, m means) (*Child, error) {
	if !m.ofKernel() {
		if err := adopt(); err != nil {
			return nil, err
		}
	}
	if m.Kind == ControlGroup {
		below, err := m.Group.make()
		if err != nil {
			return nil, err
		}
		m.Group = below
	}
	orders, toGuard, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer func() { _ = orders.Close() }()
	fromGuard, reports, err := os.Pipe()
	if err != nil {
		_ = toGuard.Close()
		return nil, err
	}
	defer func() { _ = reports.Close() }()
	pid, err := syscall.ForkExec("/proc/self/exe", append(append([]string{os.Args[0]}, c.Guard...), c.Args...), &syscall.ProcAttr{
		Env: c.Env, Files: []uintptr{0, 1, 2, orders.Fd(), reports.Fd()}, Sys: m.attr(),
	})
	if err != nil {
		_, _ = toGuard.Close(), fromGuard.Close()
		return nil, err
	}
	child := &Child{means: m, guard: pid, orders: make(chan order, 64), ended: make(chan struct{}), reports: receive[Report](fromGuard)}
	go child.post(toGuard)
	child.order(order{Means: m, Rules: &c.Rules, Foreground: inForeground()})
	_ = reports.Close() // the guard has the only copy, so its end is the end of the reports
	if first := <-child.reports; !first.Ready {
		child.Kill()
		<-child.Gone()
		return nil, errors.New(cmp.Or(first.Failure, "the guard ended at its start"))
	}
	return child, nil
}

// post writes the orders. A stopped guard, which reads none, thus does not stop its starter.
func (c *Child) post(f *os.File) {
	defer func() { _ = f.Close() }()
	for {
		select {
		case o := <-c.orders:
			send(f, o)
		case <-c.ended:
			return
		}
	}
}

// order sends an order, unless the guard takes none: then an extension is lost, and the guard ends the command early.
func (c *Child) order(o order) {
	select {
	case c.orders <- o:
	default:
	}
}

// Reports returns the reports of the guard. The channel is closed when the guard has ended.
func (c *Child) Reports() <-chan Report { return c.reports }

// Extend changes the window.
func (c *Child) Extend(rules deadline.Rules) { c.order(order{Rules: &rules}) }

// Signal sends a signal to the command.
func (c *Child) Signal(s unix.Signal) { c.order(order{Signal: s}) }

// Stop requests the command to stop, as at the end of its window.
func (c *Child) Stop() { c.order(order{Stop: true}) }

// Continue continues a stopped command, and gives it the terminal if this process has it.
func (c *Child) Continue() { c.order(order{Continue: true, Foreground: inForeground()}) }

// Kill kills the command, all its descendants and the guard.
func (c *Child) Kill() {
	c.means.kill()
	_ = unix.Kill(c.guard, unix.SIGKILL)
}

// Gone waits for the guard and all descendants of the command. It closes the channel when each of them was reaped. This process must have no
// other children.
func (c *Child) Gone() <-chan struct{} {
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		for {
			pid, err := unix.Wait4(-1, nil, 0, nil) // the first process of a container gets orphans of others too
			if pid == c.guard || err != nil && !errors.Is(err, unix.EINTR) {
				break
			}
		}
		close(c.ended)
		c.means.end() // orphans of a guard that was killed
	}()
	return gone
}

// inForeground reports whether this process is in the foreground of a terminal.
func inForeground() bool {
	terminal, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return false
	}
	defer func() { _ = terminal.Close() }()
	group, err := unix.IoctlGetInt(int(terminal.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

// TakeTerminal gives the terminal, if there is one, to the process group of this process, after that of a command had it.
func TakeTerminal() {
	terminal, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return
	}
	defer func() { _ = terminal.Close() }()
	signal.Ignore(unix.SIGTTOU)
	_ = unix.IoctlSetPointerInt(int(terminal.Fd()), unix.TIOCSPGRP, unix.Getpgrp())
}
