//go:build unix

package redis

import "syscall"

// readSocket reads what a socket has received, without waiting.
func readSocket(fd uintptr, b []byte) (int, error) { return syscall.Read(int(fd), b) }

// writeSocket writes what the system takes, without waiting.
func writeSocket(fd uintptr, b []byte) (int, error) { return syscall.Write(int(fd), b) }

// endedSocket reports whether the client has sent all that it will send, and all of that has been read.
func endedSocket(fd uintptr) bool {
	var b [1]byte
	n, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
	return n == 0 && err == nil
}
