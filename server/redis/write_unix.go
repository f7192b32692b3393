//go:build unix

package redis

import (
	"errors"
	"syscall"
)

const canTry = true

// tryWrite writes as much as the system takes without waiting.
func tryWrite(fd uintptr, b []byte) (int, error) {
	for written := 0; ; {
		n, err := syscall.Write(int(fd), b[written:])
		if n > 0 {
			written += n
		}
		switch {
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EAGAIN):
			return written, nil
		case err != nil:
			return written, err
		default:
			return written, nil
		}
	}
}
