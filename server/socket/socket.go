// Package socket listens at Unix sockets in the file system. The main function is [Listen].
package socket

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"
)

const (
	// MaxPath is the greatest length of a path in bytes. The system keeps paths of sockets in a field of fixed size, which ends with a 0.
	MaxPath = len(syscall.RawSockaddrUnix{}.Path) - 1
	// MinMode is the least mode: the user of the process always has access, because the next process looks whether this one listens.
	MinMode fs.FileMode = 0o600
	// MaxMode is the greatest mode.
	MaxMode fs.FileMode = 0o777
	// DefaultMode lets the user of the process connect, and no other user.
	DefaultMode = MinMode
)

// File is a socket in the file system. Programs with write permission may connect to it.
type File struct {
	Path string      // empty: no socket
	Mode fs.FileMode // 0: DefaultMode
}

// Fits reports whether a socket can have a path: an absolute one, which programs in other directories find, of at most MaxPath bytes.
// Abstract sockets (@name) have no mode, so every process of the host could connect to them.
func Fits(path string) bool {
	return filepath.IsAbs(path) && len(path) <= MaxPath && !strings.ContainsRune(path, 0) && filepath.Clean(path) == path
}

// Addr is the address of the process that connected to a socket. The system vouches for it.
type Addr struct {
	UID uint32 // 65534 for a user outside of the user namespace of this process
	PID int32  // 0 for a process outside of the PID namespace of this process
}

// Network implements net.Addr.
func (Addr) Network() string { return "unix" }

// String implements net.Addr.
func (a Addr) String() string { return fmt.Sprintf("unix:uid=%d,pid=%d", a.UID, a.PID) }
