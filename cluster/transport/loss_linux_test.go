package transport

import (
	"errors"
	"net"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/snowraft/snowraft/internal/test/clusterkit"
)

// The accept queue of a process that accepts too slowly is full. The kernel then drops further connections, and refuses none.
func TestProcessAtFullAcceptQueue(t *testing.T) {
	t.Parallel()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(fd) })
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Listen(fd, 0); err != nil {
		t.Fatal(err)
	}
	bound, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(bound.(*syscall.SockaddrInet4).Port))
	full := false
	for range 8 {
		conn, err := net.DialTimeout("tcp", address, 100*time.Millisecond)
		if full = err != nil; full {
			break
		}
		defer conn.Close()
	}
	if !full {
		t.Skip("the queue does not fill")
	}
	a := layer(t, nil)
	if _, err := processWithin(t, a, clusterkit.NodeID(1), address, 200*time.Millisecond); err == nil || errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("ProcessAt() = %v, want an error that is not a refusal", err)
	}
}
