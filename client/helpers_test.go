package client

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/snowraft/snowraft/internal/race"
)

// patience is the time for which a test waits for a background event.
const patience = 20 * time.Second

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

// patiently requests so many IDs that the client waits longer for a member than a busy machine delays it. So the request is not
// repeated.
func patiently(t testing.TB, ids *IDs) ([]Range, error) {
	return ids.Ranges(within(t, patience), patientCount)
}

// unhindered returns the longest time of a call that waits for no silent member. It is longer with the race detector, because
// then other tests have delayed calls by 0.9 s.
func unhindered() time.Duration {
	if race.Enabled {
		return 4 * memoryPatience
	}
	return memoryPatience
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

// unused returns an address without a listener.
func unused(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
