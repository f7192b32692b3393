package frontend

import (
	"context"
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/peer"

	"github.com/snowraft/snowraft/internal/limits"
	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

func taken(t *testing.T, a *account, size int64) *lease {
	t.Helper()
	l, err := a.take(t.Context(), size)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func refusedTake(t *testing.T, a *account, size int64) {
	t.Helper()
	began := time.Now()
	if _, err := a.take(t.Context(), size); rpc.FromError(err).Reason != rpc.Overloaded {
		t.Errorf("got %v, want a refusal", err)
	}
	if took := time.Since(began); took != budgetWait {
		t.Errorf("the call was refused after %v", took)
	}
}

func TestBudgetOfAll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(100, 60)
		one, two, three := b.account(nil), b.account(nil), b.account(nil)
		first := taken(t, one, 60)
		refusedTake(t, one, 1) // the connection has used its share
		second := taken(t, two, 40)
		refusedTake(t, three, 1)
		first.keep(30)
		taken(t, three, 30)
		refusedTake(t, three, 1)
		first.keep(50) // grows no lease
		two.end()
		second.keep(0) // counts once
		taken(t, three, 30)
		refusedTake(t, b.account(nil), 11)
		one.end()
		taken(t, b.account(nil), 30)
		taken(t, two, 10).keep(0) // ended: its answers are not sent and hold no memory
		if len(b.holding) != 2 {
			t.Errorf("%d accounts hold memory, want 2", len(b.holding))
		}
	})
}

// When a call was refused, the connections that hold memory and have sent little since it began to wait are closed.
func TestStalledConnectionsAreClosed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(100, 60)
		hold := func(size int64) *apiConn {
			ours, _ := net.Pipe()
			c := &apiConn{Conn: ours, silence: new(silence)}
			c.resumed.L = &c.mu
			c.account = b.account(c)
			taken(t, c.account, size)
			return c
		}
		stalled, reads := hold(60), hold(40)
		time.AfterFunc(budgetWait/2, func() {
			stalled.sent.Add(freeBytes - 1)
			reads.sent.Add(freeBytes)
		})
		refusedTake(t, b.account(nil), 1)
		if !stalled.gone.Load() || reads.gone.Load() {
			t.Errorf("the stalled connection was closed: %v; the other one: %v", stalled.gone.Load(), reads.gone.Load())
		}
		taken(t, b.account(nil), 60)
	})
}

// An answer waits until another connection returns memory.
func TestBudgetWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(100, 100)
		l := taken(t, b.account(nil), 100)
		time.AfterFunc(time.Second, func() { l.keep(0) })
		taken(t, b.account(nil), 100)
	})
}

func TestBudgetOfCanceledCall(t *testing.T) {
	t.Parallel()
	b := newBudget(100, 100)
	taken(t, b.account(nil), 100)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.account(nil).take(ctx, 1); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// during holds memory until the answer has been written.
func TestBudgetDuring(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(freeBytes+1, freeBytes+1)
		ctx, cancel := context.WithCancel(t.Context())
		if err := b.during(ctx, freeBytes+1); err != nil {
			t.Fatal(err)
		}
		if err := b.during(ctx, freeBytes); err != nil {
			t.Fatal(err) // small answers do not count
		}
		refusedTake(t, b.account(nil), 1)
		cancel()
		synctest.Wait()
		taken(t, b.account(nil), freeBytes+1)
	})
}

// A request for a large answer takes its memory before it runs.
func TestLargeAnswersAreReserved(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newBudget(limits.Packed*packedBytes, limits.Packed*packedBytes).account(nil)
		ctx := peer.NewContext(t.Context(), &peer.Peer{Addr: &apiAddr{account: a}})
		l, err := reserve(ctx, &snowraftv1.GenerateIdsRequest{Count: limits.Packed, Packed: new(true)})
		if l == nil || err != nil {
			t.Fatalf("a large answer: %v, %v", l, err)
		}
		refusedTake(t, a, 1)
		l.keep(0)
		taken(t, a, 1)
		if l, err := reserve(ctx, &snowraftv1.GenerateIdsRequest{Count: 1}); l != nil || err != nil {
			t.Errorf("a small answer: %v, %v", l, err)
		}
	})
}
