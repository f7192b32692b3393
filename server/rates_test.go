package server_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// rated returns a member, and the context of a token with a rate.
func rated(t *testing.T, token *snowraftv1.Token) (n *node, ctx context.Context) {
	t.Helper()
	s := startSecured(t, 1)
	n = s.nodes[0]
	admin := s.admin(n)
	sequence := &snowraftv1.Sequence{Name: "orders", Mode: snowraftv1.SequenceMode_SEQUENCE_MODE_RELAXED}
	if _, err := snowraftv1.NewSequenceServiceClient(admin).CreateSequence(t.Context(), &snowraftv1.CreateSequenceRequest{Sequence: sequence}); err != nil {
		t.Fatal(err)
	}
	token.Name, token.Scopes = "app", []string{"worker:lease:*", "seq:next:orders"}
	made, err := snowraftv1.NewTokenServiceClient(admin).CreateToken(t.Context(), &snowraftv1.CreateTokenRequest{Token: token})
	if err != nil {
		t.Fatal(err)
	}
	return n, as(t.Context(), made.GetText())
}

// A worker counts as one number against the rate of a token.
func TestWorkersCountAgainstRates(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		n, ctx := rated(t, &snowraftv1.Token{Rate: 1, Burst: 3})
		workers := snowraftv1.NewWorkerServiceClient(n.conn)
		acquire := &snowraftv1.AcquireWorkerRequest{Holder: "h", Nonce: make([]byte, 16), WindowMs: 1000}
		granted := 0
		var err error
		for ; err == nil && granted < 100; granted++ {
			acquire.ClockAtMs = time.Now().UnixMilli()
			_, err = workers.AcquireWorker(ctx, acquire)
		}
		wantReason(t, "AcquireWorker", err, rpc.RateLimited)
		if granted < 3 {
			t.Errorf("refused after %d workers, and the burst is 3", granted)
		}
	})
}

// Calls for blocks that are in flight together get no more than the rate of their token allows.
func TestBlocksStayWithinTheRate(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		n, ctx := rated(t, &snowraftv1.Token{Rate: 10})
		_, err := n.sequences.AllocateBlock(ctx, &snowraftv1.AllocateBlockRequest{Sequence: "orders", Count: 11, RequestId: "r"})
		wantReason(t, "AllocateBlock of more than the burst that may be repeated", err, rpc.InvalidArgument)
		began := time.Now()
		var granted atomic.Uint64
		var calls sync.WaitGroup
		for range 20 {
			calls.Go(func() {
				resp, err := n.sequences.AllocateBlock(ctx, &snowraftv1.AllocateBlockRequest{Sequence: "orders", Count: 999_999_999, ReturnKey: make([]byte, 16)})
				if granted.Add(resp.GetBlock().GetCount()); err != nil {
					wantReason(t, "AllocateBlock", err, rpc.RateLimited)
				}
			})
		}
		calls.Wait()
		if got, most := granted.Load(), 10+uint64(10*time.Since(began).Seconds()); got < 10 || got > most {
			t.Errorf("%d numbers granted, want 10 to %d", got, most)
		}
		_, err = n.sequences.NextNumbers(ctx, &snowraftv1.NextNumbersRequest{Sequence: "orders", Count: 1})
		wantReason(t, "NextNumbers", err, rpc.RateLimited)
	})
}

// A call that is refused by the log costs as much as one that is granted.
func TestRefusedClaimsCountAgainstRates(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		n, ctx := rated(t, &snowraftv1.Token{Rate: 1, Burst: 3})
		workers := snowraftv1.NewWorkerServiceClient(n.conn)
		for name, call := range map[string]func() error{
			"ExtendWindow": func() error {
				_, err := workers.ExtendWindow(ctx, &snowraftv1.ExtendWindowRequest{Token: 1 << 40, Nonce: make([]byte, 16), WindowMs: 1, ExtensionId: 1, ClockAtMs: time.Now().UnixMilli()})
				return err
			},
			"ReleaseWorker": func() error {
				_, err := workers.ReleaseWorker(ctx, &snowraftv1.ReleaseWorkerRequest{Token: 1 << 40, Nonce: make([]byte, 16)})
				return err
			},
			"ReturnBlock": func() error {
				_, err := n.sequences.ReturnBlock(ctx, &snowraftv1.ReturnBlockRequest{Sequence: "orders", Token: 1 << 40, Unused: 1, ReturnKey: make([]byte, 16)})
				return err
			},
		} {
			<-time.After(time.Minute) // bubble's time; fills the bucket
			before, refused := n.server.Member().State().Applied(), 0
			for range 50 {
				if err := call(); rpc.FromError(err).Reason != rpc.RateLimited {
					refused++
				}
			}
			if wrote := n.server.Member().State().Applied() - before; refused < 3 || refused > 10 || wrote > 20 {
				t.Errorf("%s: %d calls reached the log, which grew by %d entries; want the burst of 3 and few more", name, refused, wrote)
			}
		}
	})
}
