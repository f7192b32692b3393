//go:build process || browser || prometheus

package processtest

import (
	"runtime"
	"sync"
	"syscall"
)

// attributes put a process into a group of its own, and have the kernel kill it
// when this one ends in a way that runs no cleanup, such as go test's timeout.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// spawning hands commands to a thread that lives as long as this process: what
// the kernel takes for the parent is the thread that started a child.
var spawning = sync.OnceValue(func() chan<- func() {
	jobs := make(chan func())
	go func() {
		runtime.LockOSThread()
		for job := range jobs {
			job()
		}
	}()
	return jobs
})

func spawn(start func() error) error {
	done := make(chan error, 1)
	spawning() <- func() { done <- start() }
	return <-done
}
