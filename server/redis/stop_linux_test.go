package redis_test

import (
	"errors"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/snowraft/snowraft/server/redis"
)

// A closed server does not write to its former file descriptors. This test is not parallel, because other tests would reuse
// the descriptors.
func TestClosedServerLeavesFilesAlone(t *testing.T) {
	l := listen(t, "127.0.0.1:0")
	s := redis.New(redis.Config{Backend: &fake{}})
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	if got := all(t, l.Addr().String(), "PING\r\n"); got != "+PONG\r\n" {
		t.Fatalf("got %q", got)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-served; err != nil {
		t.Fatal(err)
	}
	var fds []int
	for range 50 {
		fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
		if err != nil {
			t.Fatal(err)
		}
		fds = append(fds, fd)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
	for _, fd := range fds {
		if _, err := unix.Read(fd, make([]byte, 8)); !errors.Is(err, unix.EAGAIN) {
			t.Errorf("file descriptor %d, which is another's now, was written to: %v", fd, err)
		}
		if err := unix.Close(fd); err != nil {
			t.Error(err)
		}
	}
}
