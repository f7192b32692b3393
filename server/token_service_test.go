package server_test

import (
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/trust"
)

func TestTokenService(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		s := startSecured(t, 3)
		for _, n := range s.nodes {
			service := snowraftv1.NewTokenServiceClient(s.admin(n))
			made, err := service.CreateToken(t.Context(), &snowraftv1.CreateTokenRequest{Token: &snowraftv1.Token{
				Name: "billing", Scopes: []string{"ids:issue:default"}, Rate: 5,
			}})
			if err != nil {
				t.Fatal(err)
			}
			token, err := trust.ParseToken(made.GetText())
			if err != nil || token.ID != made.GetToken().GetId() || token.Pin != s.keys.Signing().Authority().Pin() || made.GetToken().GetBurst() != 5 {
				t.Errorf("CreateToken() = %v, %v", made.GetToken(), err)
			}
			for _, other := range s.nodes { // immediately, even if the replica may be behind
				_, err := other.ids.GenerateIds(as(t.Context(), made.GetText()), &snowraftv1.GenerateIdsRequest{})
				wantReason(t, "GenerateIds", err, "")
			}
			beyond := func() error { // more than the burst: it needs a full bucket, and leaves a debt of 19 s
				_, err := n.ids.GenerateIds(as(t.Context(), made.GetText()), &snowraftv1.GenerateIdsRequest{Count: 100})
				return err
			}
			until(t, "the bucket is full", func() bool { return beyond() == nil })
			err = beyond()
			wantReason(t, "more than the rate", err, rpc.RateLimited)
			if e := rpc.FromError(err); e.RetryAfter <= 0 || e.Code != codes.ResourceExhausted {
				t.Errorf("RATE_LIMITED with %v after %v", e.Code, e.RetryAfter)
			}

			got, err := service.GetToken(t.Context(), &snowraftv1.GetTokenRequest{Token: "billing"})
			if err != nil || got.GetToken().GetId() != token.ID {
				t.Errorf("GetToken() = %v, %v", got, err)
			}
			verified, err := service.VerifyToken(t.Context(), &snowraftv1.VerifyTokenRequest{Text: made.GetText()})
			if err != nil || verified.GetToken().GetId() != token.ID {
				t.Errorf("VerifyToken() = %v, %v", verified, err)
			}
			updated, err := service.UpdateToken(t.Context(), &snowraftv1.UpdateTokenRequest{
				Token: "billing", Changes: &snowraftv1.Token{Scopes: []string{"seq:read:*"}}, ExpectedGeneration: new(got.GetToken().GetGeneration()),
			})
			if err != nil || updated.GetToken().GetRate() != 5 {
				t.Errorf("UpdateToken() = %v, %v", updated, err)
			}
			if slices.Contains(updated.GetUnreachedMembers(), n.cfg.Name) { // a slow member
				n.untilApplied(s.nodes)
			}
			_, err = n.ids.GenerateIds(as(t.Context(), made.GetText()), &snowraftv1.GenerateIdsRequest{})
			wantReason(t, "without the scope", err, rpc.PermissionDenied)
			_, err = n.sequences.ListSequences(as(t.Context(), made.GetText()), &snowraftv1.ListSequencesRequest{})
			wantReason(t, "ListSequences", err, "")

			deleted, err := service.DeleteToken(t.Context(), &snowraftv1.DeleteTokenRequest{Token: "billing"})
			if err != nil {
				t.Fatal(err)
			}
			if slices.Contains(deleted.GetUnreachedMembers(), n.cfg.Name) {
				n.untilApplied(s.nodes)
			}
			_, err = n.sequences.ListSequences(as(t.Context(), made.GetText()), &snowraftv1.ListSequencesRequest{})
			wantReason(t, "after DeleteToken", err, rpc.Unauthenticated)
			verified, err = service.VerifyToken(t.Context(), &snowraftv1.VerifyTokenRequest{Text: made.GetText()})
			if err != nil || verified.GetToken() != nil {
				t.Errorf("VerifyToken() of a deleted token = %v, %v", verified, err)
			}
			_, err = service.GetToken(t.Context(), &snowraftv1.GetTokenRequest{Token: "billing"})
			wantReason(t, "GetToken", err, rpc.UnknownToken)
		}
		service := snowraftv1.NewTokenServiceClient(s.admin(s.nodes[0]))
		for _, wrong := range []*snowraftv1.Token{
			{Name: "17", Scopes: []string{"cluster:read"}}, {Name: "a", Scopes: []string{"ids:issue"}}, {Name: "a", Scopes: []string{"cluster:read:x"}},
			{Name: "anonymous", Scopes: []string{"cluster:read"}}, {Name: "a/b"}, {Name: "a", Burst: 5},
		} {
			_, err := service.CreateToken(t.Context(), &snowraftv1.CreateTokenRequest{Token: wrong})
			wantReason(t, wrong.String(), err, rpc.InvalidArgument)
		}
		list, err := service.ListTokens(t.Context(), &snowraftv1.ListTokensRequest{})
		if err != nil || len(list.GetTokens()) != 1 || list.GetTokens()[0].GetName() != "anonymous" {
			t.Errorf("ListTokens() = %v, %v", list, err)
		}
	})
}

// A worker counts as one number against the rate of a token.
func TestWorkersCountAgainstRates(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		s := startSecured(t, 1)
		n := s.nodes[0]
		made, err := snowraftv1.NewTokenServiceClient(s.admin(n)).CreateToken(t.Context(), &snowraftv1.CreateTokenRequest{Token: &snowraftv1.Token{
			Name: "app", Scopes: []string{"worker:lease:*"}, Rate: 1, Burst: 3,
		}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, workers := as(t.Context(), made.GetText()), snowraftv1.NewWorkerServiceClient(n.conn)
		acquire := &snowraftv1.AcquireWorkerRequest{Holder: "h", Nonce: make([]byte, 16), WindowMs: 1000}
		granted := 0
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

// A block counts against the rate of a token, at the member that took the call.
func TestBlocksCountAgainstRates(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		s := startSecured(t, 1)
		n, admin := s.nodes[0], s.admin(s.nodes[0])
		sequence := &snowraftv1.Sequence{Name: "orders", Mode: snowraftv1.SequenceMode_SEQUENCE_MODE_RELAXED}
		if _, err := snowraftv1.NewSequenceServiceClient(admin).CreateSequence(t.Context(), &snowraftv1.CreateSequenceRequest{Sequence: sequence}); err != nil {
			t.Fatal(err)
		}
		made, err := snowraftv1.NewTokenServiceClient(admin).CreateToken(t.Context(), &snowraftv1.CreateTokenRequest{Token: &snowraftv1.Token{Name: "app", Scopes: []string{"seq:next:orders"}, Rate: 10}})
		if err != nil {
			t.Fatal(err)
		}
		ctx := as(t.Context(), made.GetText())
		_, err = n.sequences.AllocateBlock(ctx, &snowraftv1.AllocateBlockRequest{Sequence: "orders", Count: 1000, ReturnKey: make([]byte, 16)})
		wantReason(t, "AllocateBlock", err, "")
		_, err = n.sequences.NextNumbers(ctx, &snowraftv1.NextNumbersRequest{Sequence: "orders", Count: 1})
		wantReason(t, "NextNumbers", err, rpc.RateLimited)
		_, err = n.sequences.AllocateBlock(ctx, &snowraftv1.AllocateBlockRequest{Sequence: "orders", Count: 1, ReturnKey: make([]byte, 16)})
		wantReason(t, "AllocateBlock", err, rpc.RateLimited)
	})
}
