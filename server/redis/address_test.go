package redis_test

import (
	"context"
	"strings"
	"testing"

	"github.com/snowraft/snowraft/server/redis"
	"github.com/snowraft/snowraft/trust"
)

// The authorizer learns the address of a client.
func TestAddressReachesTheAuthorizer(t *testing.T) {
	t.Parallel()
	ts, seen := newTokens("seq:next:a"), make(chan string, 2)
	authorizer := trust.NewAuthorizer(ts)
	_, addr := start(t, redis.Config{Backend: judging{&fake{}}, Authenticate: func(ctx context.Context, token string) (*trust.Principal, error) {
		if token != "" {
			seen <- trust.AddressOf(ctx)
		}
		return authorizer.Authenticate(ctx, token)
	}})
	c := dial(t, addr)
	c.send("AUTH " + ts.texts["seq:next:a"] + "\r\n")
	if got := <-seen; !strings.HasPrefix(got, "127.0.0.1:") {
		t.Errorf("address %q, want that of the client", got)
	}
}
