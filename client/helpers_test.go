package client

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"
)

// patience is the time that a test waits for what happens by itself.
const patience = 20 * time.Second

// until polls for a condition.
func until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", patience, what)
		}
		<-tick.C
	}
}

// within is a context for calls that have to fail.
func within(t testing.TB, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// askAll requests IDs from some goroutines; no call may fail and no ID come twice. It returns
// the slowest call.
func askAll(t testing.TB, c *Client, callers, each int) (slowest time.Duration) {
	t.Helper()
	var mu sync.Mutex
	seen := make(map[int64]bool)
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for range each {
				began := time.Now()
				id, err := c.NextID(t.Context())
				took := time.Since(began)
				mu.Lock()
				if err != nil || seen[id] {
					t.Errorf("ID %d, twice: %v, %v", id, seen[id], err)
				}
				seen[id], slowest = true, max(slowest, took)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return slowest
}

// unused is an address without a listener.
func unused(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
