package server_test

import (
	"log/slog"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/internal/member"
	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server"
	"github.com/snowraft/snowraft/trust"
)

// Before a cluster is secured, no caller can create a token over the API. A secured member reports tokens that were written
// into the log by other means.
func TestOpenClusterRefusesToChangeTokens(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		log := &lockedBuilder{}
		n := startCluster(t, 1, func(cfg *server.Config) { cfg.Logger = slog.New(slog.NewTextHandler(log, nil)) })[0]
		service, ctx := snowraftv1.NewTokenServiceClient(n.conn), t.Context()
		scopes := &snowraftv1.Token{Name: "evil", Scopes: []string{trust.RightAdminTokens}}
		for what, err := range map[string]error{
			"create":                     second(service.CreateToken(ctx, &snowraftv1.CreateTokenRequest{Token: scopes})),
			"update":                     second(service.UpdateToken(ctx, &snowraftv1.UpdateTokenRequest{Token: fsm.AnonymousToken, Changes: scopes})),
			"prepare more than to issue": second(service.UpdateToken(ctx, &snowraftv1.UpdateTokenRequest{Token: fsm.AnonymousToken, Changes: &snowraftv1.Token{Scopes: []string{"ids:issue:*", trust.RightReadCluster}}})),
			"prepare a name alone":       second(service.UpdateToken(ctx, &snowraftv1.UpdateTokenRequest{Token: fsm.AnonymousToken, Changes: &snowraftv1.Token{Scopes: []string{"seq:admin:*"}}})),
			"prepare a rate":             second(service.UpdateToken(ctx, &snowraftv1.UpdateTokenRequest{Token: fsm.AnonymousToken, Changes: &snowraftv1.Token{Scopes: []string{"ids:issue:*"}, Rate: 5}})),
			"prepare a token":            second(service.UpdateToken(ctx, &snowraftv1.UpdateTokenRequest{Token: "evil", Changes: &snowraftv1.Token{Scopes: []string{"ids:issue:*"}}})),
			"delete":                     second(service.DeleteToken(ctx, &snowraftv1.DeleteTokenRequest{Token: "evil"})),
			"verify":                     second(service.VerifyToken(ctx, &snowraftv1.VerifyTokenRequest{})),
		} {
			if e := rpc.FromError(err); e.Reason != rpc.ClusterOpen || e.Code != codes.FailedPrecondition {
				t.Errorf("%s: %v", what, err)
			}
		}
		list, err := service.ListTokens(ctx, &snowraftv1.ListTokensRequest{})
		if err != nil || len(list.GetTokens()) != 1 || strings.Join(list.GetTokens()[0].GetScopes(), " ") != trust.RightReadMetrics {
			t.Errorf("ListTokens() = %v, %v", list, err)
		}

		keys, err := trust.NewKeys(trust.NewSecret())
		if err != nil {
			t.Fatal(err)
		}
		restart := func() {
			n.stop()
			n.cfg.Keys = keys
			n.start()
			n.untilReady()
		}
		restart()
		until(t, "a line about the tokens", func() bool {
			return strings.Contains(log.String(), `level=INFO msg="cluster secured" member=m1 tokens=0 anonymous=[metrics:read]`)
		})
		if strings.Contains(log.String(), "callers without a token") || strings.Contains(log.String(), "while it was open") {
			t.Errorf("a warning: %s", log)
		}
		if _, err := n.server.Member().UpdateToken(ctx, 0, nil, func(r *fsm.TokenRecord) error {
			r.Scopes = append(r.Scopes, trust.RightAdminTokens)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		restart()
		until(t, "a warning about anonymous callers", func() bool {
			return strings.Contains(log.String(), `level=WARN msg="cluster secured, but callers without a token may do more`)
		})
	})
}

// Before a cluster is secured, callers without a token can get the scopes with which they issue. Then they continue when it is.
func TestOpenClusterPreparesAnonymous(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		n := startCluster(t, 1)[0]
		scopes := []string{"ids:issue:*", "seq:next:*", "seq:read:*", "worker:lease:*", trust.RightReadMetrics}
		if _, err := snowraftv1.NewTokenServiceClient(n.conn).UpdateToken(t.Context(), &snowraftv1.UpdateTokenRequest{
			Token: fsm.AnonymousToken, Changes: &snowraftv1.Token{Scopes: scopes},
		}); err != nil {
			t.Fatal(err)
		}
		if got := n.server.Member().State().Anonymous().Scopes; !slices.Equal(got, scopes) {
			t.Errorf("anonymous has %q, want %q", got, scopes)
		}
	})
}

// The first start with a secret logs the tokens that were written while the cluster was open. Later starts, and the first start
// of a new member, do not warn about tokens that an administrator has seen.
func TestFirstSecuredStartNamesTokens(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		log := &lockedBuilder{}
		n := startCluster(t, 1, func(cfg *server.Config) { cfg.Logger = slog.New(slog.NewTextHandler(log, nil)) })[0]
		create := func(name string) {
			t.Helper()
			if _, err := n.server.Member().CreateToken(t.Context(), member.TokenSpec{Name: name, Scopes: []string{trust.RightAdminTokens}}); err != nil {
				t.Fatal(err)
			}
		}
		create("evil")
		create("worse")
		keys, err := trust.NewKeys(trust.NewSecret())
		if err != nil {
			t.Fatal(err)
		}
		const (
			warning = `level=WARN msg="cluster secured, but callers may have created its tokens while it was open`
			line    = `level=INFO msg="cluster secured" member=m1 tokens=2`
		)
		for start, want := range []string{warning, line} {
			n.stop()
			n.cfg.Keys = keys
			n.start()
			n.untilReady()
			until(t, want, func() bool { return strings.Contains(log.String(), want) })
			if got := strings.Count(log.String(), warning); got != 1 {
				t.Errorf("start %d: %d warnings: %s", start, got, log)
			}
		}
		if !strings.Contains(log.String(), `names="[evil worse]"`) {
			t.Errorf("the tokens are not named: %s", log)
		}
		fresh := startCluster(t, 1, func(cfg *server.Config) { cfg.Keys = keys })[0]
		if fresh.server.Member().Node().WasOpen() {
			t.Error("a new member with a secret was open before")
		}
	})
}
