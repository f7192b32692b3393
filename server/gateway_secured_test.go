package server_test

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server/gateway"
	"github.com/snowraft/snowraft/trust"
)

// withPin returns the text of a token with its pin, as members print it.
func (s *secured) withPin(text string) string {
	s.t.Helper()
	token, err := trust.ParseToken(text)
	if err != nil {
		s.t.Fatal(err)
	}
	token.Pin = s.keys.Signing().Authority().Pin()
	return token.Text()
}

// paths sends a request to each kind of path of a gateway, with and without a token for IDs and orders.
func (g *testGateway) paths(token string) {
	g.t.Helper()
	client, base := browser(g.t), "http://"+g.HTTPAddr()
	for _, tc := range []struct {
		method, path string
		none, with   int
	}{
		{"GET", "/id", 401, 200},
		{"POST", "/seq/orders", 401, 200},
		{"POST", "/seq/invoices", 401, 403},
		{"GET", "/api/segment/get/orders", 401, 200},
		{"GET", "/api/segment/get/invoices", 401, 403},
		{"GET", "/api/snowflake/get/default", 401, 200},
		{"POST", "/v1/ids:generate", 401, 200},
		{"GET", "/v1/sequences/orders", 401, 200},
		{"GET", "/v1/sequences/invoices", 401, 403},
		{"GET", "/v1/members", 401, 200},
		{"GET", "/v1/status", 401, 403},
		{"GET", "/metrics", 200, 403},
		{"GET", "/healthz", 200, 200},
		{"GET", "/readyz", 200, 200},
		{"GET", "/docs", 200, 200},
		{"GET", "/openapi.json", 200, 200},
		{"GET", "/v1/ca", 400, 400}, // NOT_A_MEMBER
	} {
		if status, body := ask(g.t, client, tc.method, base+tc.path, ""); status != tc.none {
			g.t.Errorf("%s %s without a token: %d %.200s", tc.method, tc.path, status, body)
		}
		if status, body := ask(g.t, client, tc.method, base+tc.path, token); status != tc.with {
			g.t.Errorf("%s %s with a token: %d %.200s", tc.method, tc.path, status, body)
		}
	}
	if status, body := ask(g.t, client, "GET", base+"/tinyid/id/nextIdSimple?bizType=orders&token="+token, ""); status != 200 || body == "" {
		g.t.Errorf("tinyid: %d %q", status, body)
	}
	if status, body := ask(g.t, client, "GET", base+"/tinyid/id/nextId?bizType=orders&token=x", ""); status != 200 || !strings.Contains(body, `"code":5`) {
		g.t.Errorf("tinyid: %d %q", status, body)
	}
}

// Callers of a gateway have the rights of their own tokens, over every protocol. The gateway's own token gives them no right.
func TestGatewayOfSecuredCluster(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		s := startPorts(t, 1, true)
		token := s.orders()
		own, _ := s.token("gateway", "tokens:verify", "ids:issue:default", "cluster:admin", "seq:next:*")
		g := openGatewayWith(t, gateway.Config{Members: []string{s.nodes[0].server.APIAddr()}, Token: s.withPin(own)})
		until(t, "the gateway is ready", func() bool { return g.Ready() == nil })
		g.paths(token)

		with := func(token string) metadata.MD { return metadata.Pairs("authorization", "Bearer "+token) }
		ctx := metadata.NewOutgoingContext(t.Context(), with(token))
		for range 100 { // also IDs of the buffer
			if _, err := g.ids.GenerateIds(ctx, &snowraftv1.GenerateIdsRequest{}); err != nil {
				t.Fatal(err)
			}
			if _, err := g.ids.GenerateIds(t.Context(), &snowraftv1.GenerateIdsRequest{}); status.Code(err) != codes.Unauthenticated {
				t.Fatalf("an ID without a token: %v", err)
			}
		}
		if _, err := g.sequences.NextNumbers(ctx, &snowraftv1.NextNumbersRequest{Sequence: "orders", Count: 1}); err != nil {
			t.Error(err)
		}
		_, err := g.cluster.TransferLeadership(ctx, &snowraftv1.TransferLeadershipRequest{})
		if status.Code(err) != codes.PermissionDenied {
			t.Errorf("an administrative call with the right of the gateway only: %v", err)
		}
		conn := reach(t, g.RedisAddr())
		defer conn.Close()
		got := redisSays(t, conn, "INCR orders", "AUTH "+token, "INCR orders", "INCR invoices")
		if !strings.HasPrefix(got[0], "-NOAUTH") || got[1] != "+OK" || !strings.HasPrefix(got[2], ":") || !strings.HasPrefix(got[3], "-NOPERM") {
			t.Errorf("Redis answers %q", got)
		}
	})
}

// A gateway serves a deleted token for at most the 30 s for which it keeps the answers of members, over every protocol, also on
// connections that authenticated before.
func TestGatewayForgetsDeletedTokens(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		s := startPorts(t, 1, true)
		text, id := s.token("app", "ids:issue:default")
		own, _ := s.token("gateway", "tokens:verify", "ids:issue:default")
		g := openGatewayWith(t, gateway.Config{Members: []string{s.nodes[0].server.APIAddr()}, Token: s.withPin(own)})
		until(t, "the gateway is ready", func() bool { return g.Ready() == nil })
		stream, err := g.ids.StreamIds(as(t.Context(), text))
		if err != nil {
			t.Fatal(err)
		}
		conn := reach(t, g.RedisAddr())
		defer conn.Close()
		if got := redisSays(t, conn, "AUTH "+text); got[0] != "+OK" {
			t.Fatal(got)
		}
		refused := map[string]func() bool{
			"a gRPC stream": func() bool {
				_ = stream.Send(&snowraftv1.StreamIdsRequest{Id: 1}) // Recv returns its error
				resp, err := stream.Recv()
				return rpc.FromError(cmp.Or(err, status.ErrorProto(resp.GetError()))).Reason == rpc.Unauthenticated
			},
			"HTTP": func() bool {
				code, _ := ask(t, browser(t), http.MethodPost, "http://"+g.HTTPAddr()+"/v1/ids:generate", text)
				return code == http.StatusUnauthorized
			},
			"Redis": func() bool { return strings.HasPrefix(redisSays(t, conn, "SNOWRAFT.ID")[0], "-NOAUTH ") },
		}
		for what, is := range refused {
			if is() {
				t.Errorf("%s is refused", what)
			}
		}
		if _, err := s.nodes[0].server.Member().DeleteToken(t.Context(), id, nil); err != nil {
			t.Fatal(err)
		}
		<-time.After(30 * time.Second)
		for what, is := range refused {
			if !is() {
				t.Errorf("%s is served 30 s after the deletion of its token", what)
			}
		}
	})
}

// A gateway with a token in front of an open cluster rejects all callers. The error names the action.
func TestGatewayWithTokenOfOpenCluster(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		n := startCluster(t, 1)[0]
		token := trust.Token{ID: 17, Secret: trust.NewTokenSecret()}.Text()
		g := openGatewayWith(t, gateway.Config{Members: []string{n.server.APIAddr()}, Token: token})
		until(t, "the gateway is ready", func() bool { return g.Ready() == nil })
		_, err := g.ids.GenerateIds(as(t.Context(), token), &snowraftv1.GenerateIdsRequest{})
		wantReason(t, "GenerateIds", err, rpc.ClusterOpen)
		code, body := ask(t, browser(t), http.MethodGet, "http://"+g.HTTPAddr()+"/id", "")
		if code != http.StatusBadRequest || !strings.Contains(body, "start them with --secret-file, or the gateway without --token") {
			t.Errorf("%d %s", code, body)
		}
	})
}

// A gateway rejects all callers if its own token does not have the right to verify tokens. The error names the reason.
func TestGatewayWithoutRightToVerify(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		s := startPorts(t, 1, true)
		token := s.orders()
		own, _ := s.token("gateway", "ids:issue:default")
		g := openGatewayWith(t, gateway.Config{Members: []string{s.nodes[0].server.APIAddr()}, Token: s.withPin(own)})
		until(t, "the gateway is ready", func() bool { return g.Ready() == nil })
		code, body := ask(t, browser(t), http.MethodGet, "http://"+g.HTTPAddr()+"/id", token)
		if !slices.Contains([]int{500, 503}, code) || !strings.Contains(body, "gateway's own token") {
			t.Errorf("%d %s", code, body)
		}
	})
}
