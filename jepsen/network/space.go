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

// ownSpace is the network namespace of the thread that opens it; /proc/self/ns/net would be the main thread's.
const ownSpace = "/proc/thread-self/ns/net"

// A space is a network namespace, held by an open file, with the threads that work in it. A thread stays until the space is
// closed, and then returns to the namespace of the process. It never ends: the kernel treats the thread that started a
// process as its parent, and would send the process its Pdeathsig when the thread ends.
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

// makeSpace returns a space for the namespace that enter moves its thread into.
func makeSpace(enter func() error) (*space, error) {
	s := &space{jobs: make(chan func()), quit: make(chan struct{})}
	err := away(enter, func() error {
		file, err := os.Open(ownSpace)
		s.file = file
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("make network namespace (needs root and the /proc of this PID namespace): %w", err)
	}
	return s, nil
}

// do runs f on a thread in the namespace and returns its error. Concurrent calls use different threads.
func (s *space) do(f func() error) error {
	err, done := errors.New("function for a host ended its goroutine"), make(chan struct{})
	job := func() {
		defer close(done)
		err = f()
	}
	select {
	case s.jobs <- job:
	default:
		go func() {
			if failed := away(s.enter, func() error { s.work(job); return nil }); failed != nil {
				err = fmt.Errorf("enter network namespace: %w", failed)
				close(done)
			}
		}()
	}
	<-done
	return err
}

// enter moves the calling thread into the namespace.
func (s *space) enter() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil {
		return errClosed
	}
	return unix.Setns(int(s.file.Fd()), unix.CLONE_NEWNET)
}

// work runs the first job, then further jobs until the space is closed.
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

// close releases the namespace, which the kernel removes after the last process and the last call in it have ended. It may
// be called twice.
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

// away runs f on a thread that enter has moved into another namespace, and returns the thread to the namespace of the
// process. It returns the error of enter or f.
func away(enter, f func() error) error {
	runtime.LockOSThread()
	if unix.Gettid() == unix.Getpid() {
		// The main thread must not move, because other code reads its /proc/self and /proc/net. While this goroutine locks the
		// main thread, the new goroutine runs on another thread.
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

// awayLocked does what away does. Its goroutine must have locked its thread. awayLocked unlocks the thread if it has
// returned to the namespace of the process. Otherwise the thread ends with the goroutine.
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
