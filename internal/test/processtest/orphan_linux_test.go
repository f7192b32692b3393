//go:build process || browser || prometheus || redisclients || examples || databases || foreign

package processtest

import (
	"runtime"
	"sync"
	"syscall"
)

// attributes returns the attributes of a child process. The child has its own group, and the kernel
// kills the child if this process ends without cleanup, for example after go test's timeout.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// spawning passes commands to a thread that lives as long as this process, because
// the kernel considers the thread that started a child its parent.
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
