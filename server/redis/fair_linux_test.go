package redis_test

import (
	"context"
	"io"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/snowraft/snowraft/server/redis"
)

// Clients that keep a loop always busy do not delay other clients that wait for numbers.
func TestBusyLoopsRequestNumbers(t *testing.T) {
	t.Parallel()
	f := &fake{}
	f.add("orders", 1, 1, -1, true)
	_, addr := start(t, redis.Config{Backend: f})
	for range 8 {
		c := dial(t, addr)
		go func() { _, _ = io.Copy(io.Discard, c) }()
		go func() {
			pings := strings.Repeat("PING "+strings.Repeat("x", 4000)+"\r\n", 16) // long, so that they cost little
			for {
				if _, err := io.WriteString(c, pings); err != nil {
					return
				}
			}
		}()
	}
	c := dial(t, addr)
	for range 3 {
		c.send("INCR orders\r\n")
		if got := c.reader().line(); got[0] != ':' {
			t.Fatalf("got %q", got)
		}
	}
}

// late is a Backend that delays all callers except a loop.
type late struct {
	fake
	goOn chan struct{}
}

func (l *late) TryNext(ctx context.Context, name string, count uint64) (first, increment int64, ok bool) {
	<-l.goOn
	return l.fake.TryNext(ctx, name, count)
}

func (l *late) Info() redis.Info {
	<-l.goOn
	return l.fake.Info()
}

// A client with short commands and long answers delays no other client. Neither does a client that requests INFO.
func TestLongAnswersLeaveTheLoop(t *testing.T) {
	t.Parallel()
	for _, in := range []string{strings.Repeat("COMMAND\r\n", 300) + "INCR orders\r\n", "INFO\r\n"} {
		l := &late{goOn: make(chan struct{})}
		l.add("orders", 1, 1, -1, false)
		_, addr := start(t, redis.Config{Backend: l})
		goOn := sync.OnceFunc(func() { close(l.goOn) })
		t.Cleanup(goOn) // before the server's cleanup
		long := dial(t, addr)
		long.send(in + "QUIT\r\n")
		for range 2 * runtime.GOMAXPROCS(0) { // some on each loop
			if got := all(t, addr, "PING\r\n"); got != "+PONG\r\n" {
				t.Errorf("got %q", got)
			}
		}
		goOn()
		if got, err := io.ReadAll(long); err != nil || !strings.HasSuffix(string(got), "\r\n+OK\r\n") {
			t.Errorf("got %d bytes, %v", len(got), err)
		}
	}
}
