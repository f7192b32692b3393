package redis_test

import (
	"context"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/snowraft/snowraft/server/redis"
)

// Connections that need numbers of one key while a call is in progress share the next call.
func TestConnectionsShareCalls(t *testing.T) {
	t.Parallel()
	const count = 50
	began, goOn := make(chan struct{}, count), make(chan struct{})
	f := &fake{before: func(_ context.Context, call, _ string) error {
		if call == "next" {
			began <- struct{}{}
			<-goOn
		}
		return nil
	}}
	f.add("orders", 1, 1, -1, true)
	s, addr := start(t, redis.Config{Backend: f})
	clients := make([]*client, count)
	for i := range clients {
		clients[i] = dial(t, addr)
		clients[i].send("INCR orders\r\nINCR orders\r\n")
	}
	<-began
	for s.Busy() < count && t.Context().Err() == nil {
		runtime.Gosched()
	}
	close(goOn)
	seen := make(map[string]bool)
	for _, c := range clients {
		r := c.reader()
		for range 2 {
			n := r.line()
			if seen[n] || n[0] != ':' {
				t.Errorf("got %q, again or no number", n)
			}
			seen[n] = true
		}
	}
	if n := f.nexts.Load(); n > int64(3*runtime.GOMAXPROCS(0)) {
		t.Errorf("%d calls for %d connections", n, count)
	}
}

// A client that keeps the server waiting, or whose call takes long, delays no other client.
func TestLoopsDoNotWait(t *testing.T) {
	t.Parallel()
	goOn := make(chan struct{})
	f := &fake{before: func(_ context.Context, call, _ string) error {
		if call == "last" {
			<-goOn
		}
		return nil
	}}
	f.add("orders", 1, 1, -1, true)
	_, addr := start(t, redis.Config{Backend: f})
	var waiting []*client
	for range 20 {
		c := dial(t, addr)
		c.send("GET orders\r\n")
		waiting = append(waiting, c)
	}
	for range 20 {
		c := dial(t, addr) // never reads
		c.send(strings.Repeat("ECHO "+strings.Repeat("x", 1000)+"\r\n", 2000))
	}
	for range 20 {
		if got := all(t, addr, "PING\r\nINCR orders\r\n"); !strings.HasPrefix(got, "+PONG\r\n:") {
			t.Errorf("got %q", got)
		}
	}
	close(goOn)
	for _, c := range waiting {
		if got := c.reader().line(); got[0] != '$' {
			t.Errorf("got %q", got)
		}
	}
}

// Connections that end in any state leave no file descriptors open.
func TestLoopsLeaveNoFiles(t *testing.T) {
	var slow atomic.Bool
	goOn := make(chan struct{})
	f := &fake{before: func(context.Context, string, string) error {
		if slow.Load() {
			<-goOn
		}
		return nil
	}}
	f.add("orders", 1, 1, -1, true)
	_, addr := start(t, redis.Config{Backend: f})
	if got := all(t, addr, "PING\r\n"); got != "+PONG\r\n" {
		t.Fatalf("got %q", got)
	}
	before := files(t)
	slow.Store(true)
	var reading sync.WaitGroup
	for i := range 60 {
		c := dial(t, addr)
		c.send([]string{
			"", "PI", "PING\r\n", "INCR orders\r\n", "INCR orders\r\nINCR orders\r\nGET orders\r\n", "GET orders\r\nPING\r\n",
			"*9999999\r\n", "QUIT\r\n", strings.Repeat("ECHO "+strings.Repeat("x", 1000)+"\r\n", 2000), "POST / HTTP/1.1\r\n\r\n",
		}[i%10])
		if i%20 < 10 {
			_ = c.Close()
			continue
		}
		if err := c.Conn.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		reading.Go(func() {
			_, _ = io.Copy(io.Discard, c)
			_ = c.Close()
		})
	}
	close(goOn)
	reading.Wait()
	for range 10_000 {
		if n := files(t); n <= before {
			return
		}
		runtime.Gosched()
	}
	t.Errorf("%d files are open, %d before", files(t), before)
}

func files(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}
