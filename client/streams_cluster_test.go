package client_test

import (
	"context"
	"sync"
	"testing"
	"time"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// When the leader shuts down while callers use its streams, no call fails, no number comes twice, and strict numbers ascend for
// each caller.
func TestStreamsWhileLeaderShutsDown(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		c := startNumberCluster(t, 3)
		c.create(&snowraftv1.Sequence{Name: "strict", Mode: snowraftv1.SequenceMode_SEQUENCE_MODE_STRICT})
		cl := c.client()
		var callers sync.WaitGroup
		over := make(chan struct{})
		for name, next := range map[string]func(context.Context) (int64, error){"ID": cl.NextID, "number": cl.Sequence("strict").Next} {
			var seen sync.Map
			for range 8 {
				callers.Go(func() {
					for last := int64(0); ; {
						select {
						case <-over:
							return
						default:
						}
						n, err := next(t.Context())
						if err != nil {
							t.Errorf("%s: %v", name, err)
							return
						}
						if _, twice := seen.LoadOrStore(n, true); twice || name == "number" && n <= last {
							t.Errorf("%s %d after %d, issued before: %t", name, n, last, twice)
						}
						last = n
						<-time.After(time.Millisecond) // the time of a bubble stands still while a caller never waits
					}
				})
			}
		}
		<-time.After(200 * time.Millisecond)
		c.close(c.leader())
		<-time.After(500 * time.Millisecond)
		close(over)
		callers.Wait()
	})
}
