package contain

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/snowraft/snowraft/internal/cgroup"
)

// Kind is a kind of containment.
type Kind string

const (
	// Namespace is a PID namespace whose first process is the guard. The kernel kills all its processes when the guard ends.
	Namespace Kind = "namespace"
	// UserNamespace is a PID namespace in a user namespace, for starters without root.
	UserNamespace Kind = "user namespace"
	// Container is a container whose first process is the starter.
	Container Kind = "container"
	// ControlGroup is a control group below that of the starter, which guard and starter kill.
	ControlGroup Kind = "control group"
	// Weak is the tree of the guard's descendants, which guard and starter kill. Those of other users can survive.
	Weak Kind = "weak"
)

// means is a means of containment.
type means struct {
	Kind  Kind
	Group group `json:",omitempty"` // control group of the command; empty without one
}

// allMeans returns the means to try, best first.
func allMeans(weak bool) []means {
	var all []means
	if os.Getpid() == 1 {
		all = append(all, means{Kind: Container})
	}
	all = append(all, means{Kind: Namespace}, means{Kind: UserNamespace})
	for _, dir := range cgroup.Own(os.DirFS("/")) {
		all = append(all, means{ControlGroup, group(dir)})
	}
	if weak {
		all = append(all, means{Kind: Weak})
	}
	return all
}

// ofKernel reports whether the kernel ends the command with the guard.
func (m means) ofKernel() bool { return m.Kind == Namespace || m.Kind == UserNamespace }

// attr returns the attributes of the guard's process.
func (m means) attr() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{}
	switch m.Kind {
	case Namespace:
		attr.Cloneflags = unix.CLONE_NEWPID | unix.CLONE_NEWNS
	case UserNamespace:
		attr.Cloneflags = unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNS
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}
		attr.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN}
	case Container, ControlGroup, Weak:
		return attr // a guard that outlives its starter kills the command
	}
	// The signal clears at changes of credentials and belongs to a thread. It only adds to the end of the orders.
	attr.Pdeathsig = syscall.SIGKILL
	return attr
}

// adopt makes orphans of the command children of this process.
func adopt() error { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// prepare sets up the guard's process. Children of the calling thread inherit its capabilities, so the thread must be locked.
func (m means) prepare() error {
	if !m.ofKernel() {
		return cmp.Or(adopt(), m.Group.around(func() error { return nil }))
	}
	if os.Getpid() != 1 {
		return fmt.Errorf("the guard is process %d of its namespace, want 1", os.Getpid())
	}
	if err := unix.Mount("", "/", "", unix.MS_SLAVE|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("separate the mounts: %w", err)
	}
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	return unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
}

// kill kills the descendants of the command that this process can find, but not the caller. In a namespace, the kernel kills
// them when the guard exits.
func (m means) kill() {
	switch m.Kind {
	case Container:
		_ = unix.Kill(-1, unix.SIGKILL)
	case ControlGroup:
		m.Group.kill()
		kill(children()) // orphans that left the group
	case Weak:
		kill(children())
	case Namespace, UserNamespace:
	}
}

// end kills the descendants of the command until the caller has reaped each of them. It must have no other children.
func (m means) end() {
	if m.ofKernel() {
		return
	}
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for {
		m.kill() // then those that they left to the caller
		pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil)
		switch {
		case errors.Is(err, unix.ECHILD):
			m.Group.remove()
			return
		case pid == 0:
			<-again.C
		}
	}
}
