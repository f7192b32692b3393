package server_test

import (
	"log/slog"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server"
	"github.com/snowraft/snowraft/trust"
)

// No caller makes a way into a cluster over the API before the cluster is secured, and a secured member tells of what
// somebody wrote into the log by other ways.
func TestOpenClusterRefusesToChangeTokens(t *testing.T) {
	t.Parallel()
	log := &lockedBuilder{}
	n := startCluster(t, 1, func(cfg *server.Config) { cfg.Logger = slog.New(slog.NewTextHandler(log, nil)) })[0]
	service, ctx := snowraftv1.NewTokenServiceClient(n.conn), t.Context()
	scopes := &snowraftv1.Token{Name: "evil", Scopes: []string{trust.RightAdminTokens}}
	for what, err := range map[string]error{
		"create": second(service.CreateToken(ctx, &snowraftv1.CreateTokenRequest{Token: scopes})),
		"update": second(service.UpdateToken(ctx, &snowraftv1.UpdateTokenRequest{Token: fsm.AnonymousToken, Changes: scopes})),
		"delete": second(service.DeleteToken(ctx, &snowraftv1.DeleteTokenRequest{Token: "evil"})),
		"verify": second(service.VerifyToken(ctx, &snowraftv1.VerifyTokenRequest{})),
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
	if strings.Contains(log.String(), "callers without a token") {
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
}
