//go:build process

package processtest

import (
	"context"
	"testing"
	"time"

	"github.com/snowraft/snowraft/client"
	"github.com/snowraft/snowraft/trust"
)

// Stopping all members and starting them with a secret secures an open cluster. Meanwhile an embedded generator issues
// from its window, until the application restarts with its token.
func TestSecureOpenCluster(t *testing.T) {
	t.Parallel()
	members := startCluster(t, 3)
	seen := make(map[int64]bool)
	take := func(g *client.Generator) {
		t.Helper()
		id, err := g.Next(t.Context())
		if err != nil || seen[id] {
			t.Fatalf("ID %d, seen before: %v: %v", id, seen[id], err)
		}
		seen[id] = true
	}
	before := embed(t, dialCluster(t, members))
	until(t, "a window that outlasts the restart", func() bool {
		take(before)
		lanes := before.Lanes()
		return len(lanes) == 1 && time.Until(lanes[0].ServeUntil) > 40*time.Second
	})
	for _, m := range members {
		m.stop()
		take(before)
	}
	secret := trust.NewSecret()
	for _, m := range members {
		m.secured(secret).start()
		take(before)
	}
	for _, m := range members {
		m.untilIssues()
		take(before)
	}
	token := members[0].firstToken("app", "worker:lease:default", "ids:issue:default")
	take(before)
	after := embed(t, dialCluster(t, members, client.WithToken(token)))
	for range 100 {
		take(before)
		take(after)
	}
	if _, err := dialCluster(t, members).NextID(t.Context()); err == nil {
		t.Error("a client without a token got an ID after the cluster was secured")
	}
}

// embed returns a generator that is closed at the end of the test.
func embed(t *testing.T, c *client.Client) *client.Generator {
	t.Helper()
	g, err := client.NewGenerator(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = g.Close(ctx)
	})
	return g
}
