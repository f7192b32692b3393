package redis_test

import (
	"io"
	"strings"
	"testing"

	"github.com/snowraft/snowraft/server/redis"
)

// Clients that never let a loop rest don't keep others waiting for their numbers.
func TestBusyLoopsAskForNumbers(t *testing.T) {
	t.Parallel()
	f := &fake{}
	f.add("orders", 1, 1, -1, true)
	_, addr := start(t, redis.Config{Backend: f})
	for range 8 {
		c := dial(t, addr)
		go func() { _, _ = io.Copy(io.Discard, c) }()
		go func() {
			pings := strings.Repeat("PING\r\n", 10_000)
			for {
				if _, err := io.WriteString(c, pings); err != nil {
					return
				}
			}
		}()
	}
	c := dial(t, addr)
	for range 5 {
		c.send("INCR orders\r\n")
		if got := c.reader().line(); got[0] != ':' {
			t.Fatalf("got %q", got)
		}
	}
}
