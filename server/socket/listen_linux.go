package socket

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Listener listens at a socket. The socket never has more permissions than its mode. The lock with the name of the socket is held until the
// socket is removed, so that of several processes with the same path one at a time looks for a socket there, replaces or removes it.
type Listener struct {
	*net.UnixListener
	path    string
	created fs.FileInfo // identity of the socket; its inode is in use until the listener is closed
	lock    *lock
	once    sync.Once
	err     error // result of the first Close
}

// Listen listens at a socket, which it creates. It replaces a socket that no process listens at. It fails if a process
// listens there, or if the path is that of another kind of file. The caller must close the listener, which removes the socket.
func Listen(ctx context.Context, at File) (_ net.Listener, err error) {
	at.Mode = cmp.Or(at.Mode, DefaultMode)
	if err := checkDirectory(filepath.Dir(at.Path)); err != nil {
		return nil, err
	}
	held, err := takeLock(at.Path + ".lock")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = held.release()
		}
	}()
	if err := removeStale(ctx, at.Path); err != nil {
		return nil, err
	}
	l, err := bind(ctx, at)
	if err != nil {
		return nil, err
	}
	// The mask of the process may have removed permissions, so this only adds what is missing.
	err = os.Chmod(at.Path, at.Mode)
	created, lost := os.Lstat(at.Path)
	if err := cmp.Or(err, lost); err != nil {
		return nil, errors.Join(err, os.Remove(at.Path), l.Close())
	}
	return &Listener{UnixListener: l, path: at.Path, created: created, lock: held}, nil
}

// bind listens at a new socket with the permissions of its mode, without those that the mask of the process removes. The system
// takes the mode from the descriptor, where it is set before the socket has a path.
func bind(ctx context.Context, at File) (*net.UnixListener, error) {
	config := net.ListenConfig{Control: func(_, _ string, raw syscall.RawConn) (err error) {
		failed := raw.Control(func(fd uintptr) { err = unix.Fchmod(int(fd), uint32(at.Mode)) })
		return cmp.Or(failed, err)
	}}
	l, err := config.Listen(ctx, "unix", at.Path)
	if err != nil {
		return nil, err
	}
	bound := l.(*net.UnixListener)
	bound.SetUnlinkOnClose(false) // Close removes only its own socket
	return bound, nil
}

// checkDirectory returns an error unless only trusted users can replace a file in a directory.
func checkDirectory(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("directory %s does not exist; create it, or choose another path", dir)
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s is not a directory; choose another path", dir)
	case info.Mode()&0o002 != 0 && info.Mode()&fs.ModeSticky == 0:
		return fmt.Errorf("every user can replace files in directory %s; remove that permission (chmod o-w), or choose another path", dir)
	}
	return nil
}

// removeStale removes a socket that no process listens at. It fails for all other files. Requires the lock.
func removeStale(ctx context.Context, path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode().Type() != fs.ModeSocket:
		return errors.New("a file that is not a socket exists there; move it away, or choose another path")
	}
	c, err := new(net.Dialer).DialContext(ctx, "unix", path)
	switch {
	case err == nil:
		_ = c.Close()
		return errors.New("another process listens there; stop it, or choose another path")
	case !errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("it is unknown whether another process listens there (%w); stop that process and remove the file, or choose another path", err)
	}
	return os.Remove(path)
}

// Accept implements net.Listener. The remote address of a connection is an [Addr].
func (l *Listener) Accept() (net.Conn, error) {
	c, err := l.AcceptUnix()
	if err != nil {
		return nil, err
	}
	peer, err := peerOf(c)
	if err != nil { // the connection has ended, so the next read shows the end
		peer = Addr{UID: overflow}
	}
	return &conn{c, peer}, nil
}

// Close removes the socket, unless another process has put a file in its place, and closes the listener. It may be called again.
func (l *Listener) Close() error {
	l.once.Do(func() {
		if now, err := os.Lstat(l.path); err == nil && os.SameFile(now, l.created) {
			l.err = os.Remove(l.path)
		}
		l.err = errors.Join(l.err, l.UnixListener.Close(), l.lock.release())
	})
	return l.err
}

// conn is a connection whose remote address is the peer's process.
type conn struct {
	*net.UnixConn
	peer Addr
}

// RemoteAddr implements net.Conn.
func (c *conn) RemoteAddr() net.Addr { return c.peer }

// overflow is the user ID that Linux reports for users that a process cannot see.
const overflow = 65534

// peerOf returns the process that connected. It stays the same if the process passes the connection to another.
func peerOf(c *net.UnixConn) (Addr, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return Addr{}, err
	}
	var peer *unix.Ucred
	if e := raw.Control(func(fd uintptr) { peer, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) }); e != nil || err != nil {
		return Addr{}, errors.Join(e, err)
	}
	return Addr{UID: peer.Uid, PID: peer.Pid}, nil
}
