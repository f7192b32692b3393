package redis

import "errors"

// Servers do not run on Windows, where a read of a socket cannot be tried. The functions let client commands be built there.

func readSocket(uintptr, []byte) (int, error) { return 0, errors.ErrUnsupported }

func writeSocket(uintptr, []byte) (int, error) { return 0, errors.ErrUnsupported }

func endedSocket(uintptr) bool { return false }
