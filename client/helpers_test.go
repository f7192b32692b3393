package client

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"
)

// patience only bounds a hang: it is many times what a test needs on a busy machine.
const patience = 2 * time.Minute

// until waits until a condition is true.
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

// within returns a context for calls that must fail.
func within(t testing.TB, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// askAll requests IDs in several goroutines. It fails the test if a call fails or an ID comes twice. It returns
// the time of the slowest call.
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

// At these addresses nothing listens: systems choose no ports below 1024.
const dead, otherDead = "127.0.0.1:1", "127.0.0.1:2"

// unused returns an address at which a test may listen later.
func unused(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
