package server_test

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/snowraft/snowraft/internal/rpc"
	peerv1 "github.com/snowraft/snowraft/proto/peer/v1"
)

// The number of calls that wait for an index that never comes is bounded, and they delay no other calls.
func TestAwaitIndexLimit(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		n := startCluster(t, 1)[0]
		conn := connect(t, n.server.APIAddr(), grpc.WithTransportCredentials(insecure.NewCredentials()))
		defer conn.Close()
		never := &peerv1.AwaitIndexRequest{Index: 1 << 60}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var parked sync.WaitGroup
		for range 1000 {
			parked.Go(func() {
				for ctx.Err() == nil { // a call of the loop below may have had the place
					_, _ = peerv1.NewPeerServiceClient(conn).AwaitIndex(ctx, never)
					breathe()
				}
			})
		}
		await := func() error {
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			_, err := peerv1.NewPeerServiceClient(n.conn).AwaitIndex(ctx, never)
			return err
		}
		until(t, "one more is refused", func() bool {
			e := rpc.FromError(await())
			return e.Code == codes.ResourceExhausted && e.Reason == rpc.Overloaded && e.RetryAfter > 0
		})
		if _, err := peerv1.NewPeerServiceClient(n.conn).AwaitIndex(t.Context(), &peerv1.AwaitIndexRequest{Index: 1}); err != nil {
			t.Errorf("an index that is there: %v", err)
		}
		if code, body := n.ask("POST", "/v1/ids:generate", `{"count":1}`); code != http.StatusOK {
			t.Errorf("another call: %d %s", code, body)
		}
		cancel()
		parked.Wait()
		until(t, "it may wait again", func() bool { return status.Code(await()) == codes.DeadlineExceeded })
	})
}
