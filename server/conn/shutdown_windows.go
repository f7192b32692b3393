package conn

import "syscall"

// shutdown ends both directions of a socket.
func shutdown(fd uintptr) { _ = syscall.Shutdown(syscall.Handle(fd), syscall.SHUT_RDWR) }
