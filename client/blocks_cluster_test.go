package client_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/snowraft/snowraft/client"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

func TestBlocksInCluster(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]func(t *testing.T, c *numberCluster, cl *client.Client){
		"two processes and a member": blocksTwoProcessesAndAMember,
		"the rest is returned":       blocksRestIsReturned,
		"changes are learned":        blocksChangesAreLearned,
		"errors":                     blocksErrors,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T) {
				c := startNumberCluster(t, 3)
				c.create(&snowraftv1.Sequence{Name: "s", Mode: relaxed})
				c.create(&snowraftv1.Sequence{Name: "strict", Mode: strict})
				c.create(&snowraftv1.Sequence{Name: "daily", Mode: relaxed, Reset_: snowraftv1.SequenceReset_SEQUENCE_RESET_DAILY})
				test(t, c, c.client())
			})
		})
	}
}

func blocksTwoProcessesAndAMember(t *testing.T, _ *numberCluster, cl *client.Client) {
	var mu sync.Mutex
	given := make(map[int64]bool)
	note := func(n int64, err error) {
		if err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		if given[n] {
			t.Errorf("%d twice", n)
		}
		given[n] = true
	}
	var all sync.WaitGroup
	for range 2 {
		b := blocksOf(t, cl, "s")
		for range 10 {
			all.Go(func() {
				for range 500 {
					note(b.Next(t.Context()))
				}
			})
		}
	}
	for range 10 {
		all.Go(func() {
			for range 50 {
				note(cl.Sequence("s").Next(t.Context()))
			}
		})
	}
	all.Wait()
}

func blocksRestIsReturned(t *testing.T, c *numberCluster, cl *client.Client) {
	c.create(&snowraftv1.Sequence{Name: "rest", Mode: relaxed})
	for want := range int64(3) {
		b := blocksOf(t, cl, "rest", client.WithBlocksFirstSize(1000))
		if n, err := b.Next(t.Context()); n != want+1 || err != nil {
			t.Errorf("%d, %v, want %d", n, err, want+1)
		}
		if err := b.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

func blocksChangesAreLearned(t *testing.T, c *numberCluster, cl *client.Client) {
	b := blocksOf(t, cl, "s", client.WithBlocksRefresh(100*time.Millisecond))
	if _, err := b.Next(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := c.admin.SetNext(t.Context(), &snowraftv1.SetNextRequest{Sequence: "s", Next: 5_000_000}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "numbers from 5,000,000 on", func() bool {
		n, err := b.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return n >= 5_000_000
	})
}

func blocksErrors(t *testing.T, c *numberCluster, cl *client.Client) {
	if _, err := blocksOf(t, cl, "strict").Next(t.Context()); !errors.Is(err, client.ErrStrictSequence) {
		t.Error(err)
	}
	if _, err := blocksOf(t, cl, "none").Next(t.Context()); !errors.Is(err, client.ErrUnknownSequence) {
		t.Error(err)
	}
	if n, err := blocksOf(t, cl, "daily").Take(t.Context(), 3); err != nil || n.First != 1 || n.Period < 2026_01_01 {
		t.Error(n, err)
	}
	other := c.client()
	b := blocksOf(t, other, "s")
	_ = other.Close()
	if _, err := b.Next(t.Context()); !errors.Is(err, client.ErrClosed) {
		t.Error(err)
	}
}

// Blocks are issued on after their leader has crashed.
func TestBlocksOutliveTheLeader(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		c := startNumberCluster(t, 3)
		c.create(&snowraftv1.Sequence{Name: "s", Mode: relaxed})
		b := blocksOf(t, c.client(), "s")
		seen := make(map[int64]bool)
		next := func() {
			n, err := b.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if seen[n] {
				t.Errorf("%d came twice", n)
			}
			seen[n] = true
		}
		next()
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // without returning the block
		_ = c.leader().Close(ctx)
		for range 5000 { // more than one block
			next()
		}
	})
}

func blocksOf(t *testing.T, cl *client.Client, name string, opts ...client.BlocksOption) *client.Blocks {
	t.Helper()
	b, err := client.NewBlocks(cl, name, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close(context.Background()) })
	return b
}
