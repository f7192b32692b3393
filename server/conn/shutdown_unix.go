//go:build unix

package conn

import "syscall"

// shutdown ends both directions of a socket.
func shutdown(fd uintptr) { _ = syscall.Shutdown(int(fd), syscall.SHUT_RDWR) }
