package server_test

import (
	"strings"
	"testing"

	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// Neither an error nor an event shows a token the name of a sequence that its scopes do not cover.
func TestNamesStayWithinScopes(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		s := startSecured(t, 3)
		n := s.nodes[0]
		admin := s.admin(n)
		for name, mode := range map[string]snowraftv1.SequenceMode{
			"team1/secrets": snowraftv1.SequenceMode_SEQUENCE_MODE_RELAXED, "team2/secret": snowraftv1.SequenceMode_SEQUENCE_MODE_STRICT,
		} {
			if _, err := snowraftv1.NewSequenceServiceClient(admin).CreateSequence(t.Context(), &snowraftv1.CreateSequenceRequest{
				Sequence: &snowraftv1.Sequence{Name: name, Mode: mode},
			}); err != nil {
				t.Fatal(err)
			}
		}
		made, err := snowraftv1.NewTokenServiceClient(admin).CreateToken(t.Context(), &snowraftv1.CreateTokenRequest{Token: &snowraftv1.Token{
			Name: "team1", Scopes: []string{"seq:next:team1/*", "seq:admin:team1/*", "cluster:read"},
		}})
		if err != nil {
			t.Fatal(err)
		}
		ctx := as(t.Context(), made.GetText())
		for _, n := range s.nodes {
			n.untilApplied(s.nodes)
			for what, call := range map[string]func() error{
				"NextNumbers": func() error {
					_, err := n.sequences.NextNumbers(ctx, &snowraftv1.NextNumbersRequest{Sequence: "team1/secret", Count: 1})
					return err
				},
				"AllocateBlock": func() error {
					_, err := n.sequences.AllocateBlock(ctx, &snowraftv1.AllocateBlockRequest{Sequence: "team1/secret", Count: 1, ReturnKey: make([]byte, 16)})
					return err
				},
				"DeleteSequence": func() error {
					_, err := n.sequences.DeleteSequence(ctx, &snowraftv1.DeleteSequenceRequest{Name: "team1/secret"})
					return err
				},
			} {
				err := call()
				wantReason(t, what, err, rpc.UnknownSequence)
				if text := err.Error(); strings.Contains(text, "team2") || !strings.Contains(text, "team1/secrets") {
					t.Errorf("%s: %v; want only the names of team1", what, err)
				}
			}
			got, err := snowraftv1.NewViewServiceClient(n.conn).ListEvents(ctx, &snowraftv1.ListEventsRequest{})
			if err != nil {
				t.Fatal(err)
			}
			text := got.String()
			if strings.Contains(text, "team2") || !strings.Contains(text, "team1/secrets") || !strings.Contains(text, `"create sequence"`) {
				t.Errorf("%s: events %s; want only the names of team1", n.cfg.Name, text)
			}
		}
	})
}
