package server_test

import (
	"context"
	"testing"
	"time"

	"google.golang.org/grpc/status"

	"github.com/snowraft/snowraft/internal/member"
	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// A member judges each request of a stream, for the sequence in the request and by the present rights of the token.
func TestStreamJudgesEachRequest(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		s := startSecured(t, 3)
		text, id := s.token("orders", "seq:next:orders/*", "seq:admin:*")
		follower := s.nodes[0]
		if follower.leads() {
			follower = s.nodes[1]
		}
		for _, name := range []string{"orders/a", "invoices"} {
			create := &snowraftv1.CreateSequenceRequest{Sequence: &snowraftv1.Sequence{Name: name, Mode: snowraftv1.SequenceMode_SEQUENCE_MODE_STRICT}}
			if _, err := follower.sequences.CreateSequence(as(t.Context(), text), create); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		stream, err := follower.sequences.StreamNumbers(as(ctx, text))
		if err != nil {
			t.Fatal(err)
		}
		var sent uint64
		ask := func(what, name, want string) {
			t.Helper()
			sent++
			if err := stream.Send(&snowraftv1.StreamNumbersRequest{Id: sent, Request: &snowraftv1.NextNumbersRequest{Sequence: name, Count: 1}}); err != nil {
				t.Fatal(err)
			}
			resp, err := stream.Recv()
			if err != nil || resp.GetId() != sent {
				t.Fatalf("%s: %v, %v", what, resp, err)
			}
			wantReason(t, what, status.ErrorProto(resp.GetError()), want)
		}
		ask("with the scope", "orders/a", "")
		ask("with the scope of another sequence", "invoices", rpc.PermissionDenied)
		ask("after a refusal", "orders/a", "")
		var index uint64
		s.atLeader(func(m *member.Member) (err error) {
			index, err = m.DeleteToken(t.Context(), id, nil)
			return err
		})
		if err := follower.server.Member().State().AwaitApplied(t.Context(), index); err != nil {
			t.Fatal(err)
		}
		ask("after the revocation", "orders/a", rpc.Unauthenticated)
		_, err = stream.Recv()
		wantReason(t, "the stream after the revocation", err, rpc.Unauthenticated)
	})
}

// The error of a request without the right to it does not disturb the other callers of an anonymous client.
func TestStreamOfAnonymousCallersStays(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		s := startSecured(t, 1)
		n := s.nodes[0]
		_, err := snowraftv1.NewTokenServiceClient(s.admin(n)).UpdateToken(t.Context(), &snowraftv1.UpdateTokenRequest{
			Token: "anonymous", Changes: &snowraftv1.Token{Scopes: []string{"ids:issue:default"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		stream, err := n.ids.StreamIds(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for id, layout := range []string{"", "other", "default"} {
			req := &snowraftv1.StreamIdsRequest{Id: uint64(id + 1), Request: &snowraftv1.GenerateIdsRequest{Layout: layout}}
			if err := stream.Send(req); err != nil {
				t.Fatal(err)
			}
			resp, err := stream.Recv()
			if err != nil || resp.GetId() != req.GetId() {
				t.Fatalf("layout %q: %v, %v", layout, resp, err)
			}
			want := ""
			if layout == "other" {
				want = rpc.Unauthenticated
			}
			wantReason(t, "layout "+layout, status.ErrorProto(resp.GetError()), want)
		}
	})
}
