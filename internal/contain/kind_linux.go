package contain

import (
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Kind is a means of containment.
type Kind string

const (
	// Namespace is a PID namespace whose first process is the guard. The kernel kills all its processes when the guard ends.
	Namespace Kind = "namespace"
	// UserNamespace is a PID namespace in a user namespace, for starters without root.
	UserNamespace Kind = "user namespace"
	// Container is a container whose first process is the starter.
	Container Kind = "container"
	// Weak contains the process group of the command. Processes that leave it survive a kill of guard and starter.
	Weak Kind = "weak"
)

// kinds returns the means to try, best first.
func kinds(weak bool) []Kind {
	var all []Kind
	if os.Getpid() == 1 {
		all = append(all, Container)
	}
	all = append(all, Namespace, UserNamespace)
	if weak {
		all = append(all, Weak)
	}
	return all
}

// attr returns the attributes of the guard's process.
func (k Kind) attr() *syscall.SysProcAttr {
	// The signal clears at changes of credentials and belongs to a thread. It only adds to the end of the orders.
	attr := &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	switch k {
	case Namespace:
		attr.Cloneflags = unix.CLONE_NEWPID | unix.CLONE_NEWNS
	case UserNamespace:
		attr.Cloneflags = unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNS
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}
		attr.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN}
	case Container, Weak:
	}
	return attr
}

// prepare sets up the guard's process. Children of the calling thread inherit its capabilities, so the thread must be locked.
func (k Kind) prepare() error {
	if k == Container || k == Weak {
		return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
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

// kill kills the command and its descendants, but not the caller. command is its process ID, 0 before its start. In a
// namespace, the kernel does so when the guard exits.
func (k Kind) kill(command int) {
	switch k {
	case Container:
		_ = unix.Kill(-1, unix.SIGKILL)
	case Weak:
		if command > 0 {
			_ = unix.Kill(-command, unix.SIGKILL)
		}
	case Namespace, UserNamespace:
	}
}
