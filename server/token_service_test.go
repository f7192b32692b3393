package server_test

import (
	"slices"
	"testing"

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
