//go:build unix

package serve

import "golang.org/x/sys/unix"

// foreground reports whether this process may set the modes of a terminal. The terminal would stop a process in the background.
func foreground(fd int) bool {
	group, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP)
	return err != nil || group == unix.Getpgrp() // an error: not the terminal that controls this process
}
