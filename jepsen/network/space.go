//go:build linux

package network

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"

	"golang.org/x/sys/unix"
)

// ownSpace is the network namespace of the thread that opens it. That of the
// process would be the main thread's.
const ownSpace = "/proc/thread-self/ns/net"

// A space is a network namespace, held by an open file, and the threads that work
// in it. A thread stays until the space is closed, then goes home and is an
// ordinary one: it never ends, since the kernel takes the thread that started a
// process for its parent, and would kill with it what has a Pdeathsig.
type space struct {
	jobs chan func()
	quit chan struct{}

	mu   sync.Mutex
	file *os.File // nil once it is closed
}

// newSpace makes a new namespace.
func newSpace() (*space, error) {
	return makeSpace(func() error { return unix.Unshare(unix.CLONE_NEWNET) })
}

// homeSpace returns the namespace of this process.
func homeSpace() (*space, error) {
	return makeSpace(func() error { return nil })
}

// makeSpace holds the namespace into which enter brings its thread.
func makeSpace(enter func() error) (*space, error) {
	s := &space{jobs: make(chan func()), quit: make(chan struct{})}
	err := away(enter, func() error {
		file, err := os.Open(ownSpace)
		s.file = file
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("make a network namespace (it takes root, and a /proc of this PID namespace): %w", err)
	}
	return s, nil
}

// do runs f on a thread in the namespace and returns its error. Calls at the same
// time have threads of their own.
func (s *space) do(f func() error) error {
	err, done := errors.New("the function for a host ended its goroutine"), make(chan struct{})
	job := func() {
		defer close(done)
		err = f()
	}
	select {
	case s.jobs <- job:
	default:
		go func() {
			if failed := away(s.enter, func() error { s.work(job); return nil }); failed != nil {
				err = fmt.Errorf("enter the host's network namespace: %w", failed)
				close(done)
			}
		}()
	}
	<-done
	return err
}

// enter brings the calling thread into the namespace.
func (s *space) enter() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil {
		return errClosed
	}
	return unix.Setns(int(s.file.Fd()), unix.CLONE_NEWNET)
}

// work does the first job, then others, until the space is closed.
func (s *space) work(first func()) {
	first()
	for {
		select {
		case job := <-s.jobs:
			job()
		case <-s.quit:
			return
		}
	}
}

// close lets go of the namespace, which is gone when the last process and the last
// call in it have ended. It may be called twice.
func (s *space) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil {
		return nil
	}
	close(s.quit)
	err := s.file.Close()
	s.file = nil
	return err
}

// away runs f on a thread that enter has brought into another namespace, and
// brings it home. Its error is enter's or f's.
func away(enter, f func() error) error {
	runtime.LockOSThread()
	if unix.Gettid() == unix.Getpid() {
		// Others look at /proc/self and /proc/net, which are the main thread's. While
		// this goroutine keeps it, another one gets another thread.
		locked, result := make(chan struct{}), make(chan error, 1)
		go func() {
			runtime.LockOSThread()
			close(locked)
			result <- awayLocked(enter, f)
		}()
		<-locked
		runtime.UnlockOSThread()
		return <-result
	}
	return awayLocked(enter, f)
}

// awayLocked is away on a goroutine that has locked its thread. It unlocks it if
// the thread is at home again; one that is not ends with its goroutine.
func awayLocked(enter, f func() error) error {
	home, err := os.Open(ownSpace)
	if err != nil {
		runtime.UnlockOSThread()
		return err
	}
	defer func() { _ = home.Close() }()
	if err := enter(); err != nil {
		runtime.UnlockOSThread()
		return err
	}
	err = f()
	if unix.Setns(int(home.Fd()), unix.CLONE_NEWNET) == nil {
		runtime.UnlockOSThread()
	}
	return err
}
