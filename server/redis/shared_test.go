package redis_test

import (
	"context"
	"runtime"
	"strings"
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
	if n := f.nexts.Load(); n > count/5 {
		t.Errorf("%d calls for %d connections", n, count)
	}
}

// A client that keeps the server waiting, or whose call takes long, delays no other client.
func TestSlowClientsDelayNoOther(t *testing.T) {
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
