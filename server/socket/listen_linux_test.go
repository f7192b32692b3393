package socket

import (
	"context"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestMain removes the mask of the process, so that only the mode of a socket restricts it.
func TestMain(m *testing.M) {
	syscall.Umask(0)
	os.Exit(m.Run())
}

func pathOf(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "socket") //nolint:usetesting // a short path, as sockets require
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "s")
}

func listenAt(t *testing.T, path string, mode fs.FileMode) net.Listener {
	t.Helper()
	l, err := Listen(t.Context(), File{path, mode})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func modeOf(t *testing.T, path string) fs.FileMode {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode()
}

// present returns the names of the files in the directory of a socket.
func present(t *testing.T, path string) string {
	t.Helper()
	files, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range files {
		names = append(names, f.Name())
	}
	return strings.Join(names, " ")
}

// refused fails unless Listen fails with a text and leaves the files as they are.
func refused(t *testing.T, path, text string) {
	t.Helper()
	before := present(t, path)
	l, err := Listen(t.Context(), File{path, 0o600})
	if err == nil {
		_ = l.Close()
	}
	if err == nil || !strings.Contains(err.Error(), text) {
		t.Errorf("Listen() = %v, want %q", err, text)
	}
	if after := present(t, path); after != before {
		t.Errorf("files %q, want %q as before", after, before)
	}
}

// A socket has its mode from its first moment on, before Listen sets the mode of the file.
func TestSocketIsCreatedWithItsMode(t *testing.T) {
	t.Parallel()
	for _, mode := range []fs.FileMode{0o600, 0o660, 0o666, 0o770} {
		path := pathOf(t)
		l, err := bind(t.Context(), File{path, mode})
		if err != nil {
			t.Fatal(err)
		}
		if got := modeOf(t, path); got != fs.ModeSocket|mode {
			t.Errorf("mode after bind %v, want %v", got, mode)
		}
		_ = l.Close()
	}
}

// The mask of the process removes permissions of a new socket, and Listen adds them. Not parallel, because the mask is that of the process.
func TestMaskDoesNotRestrictMode(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o077))
	path := pathOf(t)
	listenAt(t, path, 0o660)
	if got := modeOf(t, path); got != fs.ModeSocket|0o660 {
		t.Errorf("mode %v, want 0660", got)
	}
	if got := modeOf(t, path+".lock"); got != 0o600 {
		t.Errorf("mode of the lock %v, want 0600", got)
	}
	path = pathOf(t)
	listenAt(t, path, 0)
	if got := modeOf(t, path); got != fs.ModeSocket|DefaultMode {
		t.Errorf("mode %v without a mode, want %v", got, DefaultMode)
	}
}

// A connection shows the user and the process at its other end.
func TestPeerIsProcess(t *testing.T) {
	t.Parallel()
	path := pathOf(t)
	l := listenAt(t, path, 0o600)
	client, err := new(net.Dialer).DialContext(t.Context(), "unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if got, want := c.RemoteAddr().String(), fmt.Sprintf("unix:uid=%d,pid=%d", os.Getuid(), os.Getpid()); got != want {
		t.Errorf("RemoteAddr() = %s, want %s", got, want)
	}
	if got := c.RemoteAddr().Network(); got != "unix" {
		t.Errorf("Network() = %s, want unix", got)
	}
}

// The socket of a process that was killed is replaced, and Close leaves nothing behind.
func TestStaleSocketIsReplaced(t *testing.T) {
	t.Parallel()
	path := pathOf(t)
	killed, err := bind(t.Context(), File{path, 0o600})
	if err != nil {
		t.Fatal(err)
	}
	_ = killed.Close()
	if err := os.WriteFile(path+".lock", nil, 0o600); err != nil { // no process holds it
		t.Fatal(err)
	}
	l := listenAt(t, path, 0o600)
	for range 2 {
		if err := l.Close(); err != nil {
			t.Errorf("Close() = %v", err)
		}
	}
	if left := present(t, path); left != "" {
		t.Errorf("files %q after Close, want none", left)
	}
}

// Nothing that another process may use is removed.
func TestForeignFilesStay(t *testing.T) {
	t.Parallel()
	t.Run("a socket of this program", func(t *testing.T) {
		t.Parallel()
		path := pathOf(t)
		listenAt(t, path, 0o600)
		refused(t, path, "another process holds the lock "+path+".lock")
	})
	t.Run("a socket of another program", func(t *testing.T) {
		t.Parallel()
		path := pathOf(t)
		other, err := new(net.ListenConfig).Listen(t.Context(), "unix", path)
		if err != nil {
			t.Fatal(err)
		}
		defer other.Close()
		refused(t, path, "another process listens there")
	})
	t.Run("a socket for packets", func(t *testing.T) {
		t.Parallel()
		path := pathOf(t)
		other, err := new(net.ListenConfig).ListenPacket(t.Context(), "unixgram", path)
		if err != nil {
			t.Fatal(err)
		}
		defer other.Close()
		refused(t, path, "it is unknown whether another process listens there")
	})
	for name, create := range map[string]func(path string) error{
		"a file":      func(path string) error { return os.WriteFile(path, nil, 0o600) },
		"a directory": func(path string) error { return os.Mkdir(path, 0o700) },
		"a link":      func(path string) error { return os.Symlink("nowhere", path) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := pathOf(t)
			if err := create(path); err != nil {
				t.Fatal(err)
			}
			refused(t, path, "a file that is not a socket exists there")
		})
	}
}

// A listener that closes does not remove the socket that another process put in its place.
func TestSocketOfSuccessorStays(t *testing.T) {
	t.Parallel()
	path := pathOf(t)
	l := listenAt(t, path, 0o600)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	successor, err := new(net.ListenConfig).Listen(t.Context(), "unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer successor.Close()
	if err := l.Close(); err != nil {
		t.Errorf("Close() = %v", err)
	}
	if left := present(t, path); left != "s" {
		t.Errorf("files %q, want the socket of the successor", left)
	}
}

func TestUnsafeDirectoryIsRefused(t *testing.T) {
	t.Parallel()
	path := pathOf(t)
	dir := filepath.Dir(path)
	if _, err := Listen(t.Context(), File{filepath.Join(path, "s"), 0o600}); err == nil || !strings.Contains(err.Error(), "directory "+path+" does not exist; create it") {
		t.Errorf("Listen() = %v in a missing directory", err)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	refused(t, path, "every user can replace files in directory "+dir)
	if err := os.Chmod(dir, 0o777|fs.ModeSticky); err != nil {
		t.Fatal(err)
	}
	listenAt(t, path, 0o600)
}

// Of many listeners that begin at a stale socket at the same time, at most one listens, and the path is that of its socket.
func TestOneListenerPerPath(t *testing.T) {
	t.Parallel()
	path := pathOf(t)
	killed, err := bind(t.Context(), File{path, 0o600})
	if err != nil {
		t.Fatal(err)
	}
	_ = killed.Close()
	results := make(chan net.Listener)
	for range 8 {
		go func() {
			l, _ := Listen(context.WithoutCancel(t.Context()), File{path, 0o600})
			results <- l
		}()
	}
	var listening []net.Listener
	for range 8 {
		if l := <-results; l != nil {
			listening = append(listening, l)
		}
	}
	if len(listening) != 1 {
		t.Fatalf("%d listeners, want 1", len(listening))
	}
	c, err := new(net.Dialer).DialContext(t.Context(), "unix", path)
	if err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
	_ = listening[0].Close()
}

func TestPathsOfSockets(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]bool{
		"/run/snowraft/redis.sock":           true,
		"/" + strings.Repeat("a", MaxPath-1): true,
		"/" + strings.Repeat("a", MaxPath):   false,
		"redis.sock":                         false,
		"./redis.sock":                       false,
		"@redis":                             false,
		"\x00redis":                          false,
		"/run/a\x00b":                        false,
		"unix:///run/redis.sock":             false,
		"/run/../redis.sock":                 false,
		"/run/":                              false,
		"":                                   false,
	} {
		if got := Fits(path); got != want {
			t.Errorf("Fits(%q) = %t, want %t", path, got, want)
		}
	}
}
