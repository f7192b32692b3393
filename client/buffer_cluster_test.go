package client_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/snowraft/snowraft/client"
)

func TestBufferInCluster(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		c := startNumberCluster(t, 1)
		cl := c.client()
		open := func(layout string, opts ...client.BufferOption) *client.Buffer {
			b, err := client.NewBuffer(cl.IDs(layout), opts...)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = b.Close() })
			return b
		}
		b := open("", client.WithBufferSize(10_000, 10_000), client.WithBufferAge(time.Hour))
		seen := make(map[int64]bool)
		take := func(n int) {
			t.Helper()
			for range n {
				id, err := b.Next(t.Context())
				if err != nil || seen[id] || id == 0 {
					t.Fatalf("%d, %v, twice: %t", id, err, seen[id])
				}
				seen[id] = true
			}
		}
		take(50_000)
		if _, err := open("none").Next(t.Context()); !errors.Is(err, client.ErrUnknownLayout) {
			t.Error(err)
		}

		// While all members are down, the buffer issues IDs until it is empty.
		eventually(t, "the buffer is full", func() bool { return b.Stats().Level == 10_000 })
		c.close(c.members[0])
		take(10_000)
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if id, err := b.Next(ctx); !errors.Is(err, client.ErrEmpty) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%d, %v", id, err)
		}
		c.restart(0)
		take(20_000)
		if stats := b.Stats(); stats.Taken != uint64(len(seen)) || stats.Dropped != 0 {
			t.Errorf("%d taken: %+v", len(seen), stats)
		}
		_ = cl.Close()
		for range 10_001 {
			if _, err := b.Next(t.Context()); err != nil {
				if !errors.Is(err, client.ErrClosed) {
					t.Error(err)
				}
				return
			}
		}
		t.Error("the buffer still issues IDs after its client was closed")
	})
}
