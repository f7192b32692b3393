package server_test

import (
	"crypto/tls"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server"
	"github.com/snowraft/snowraft/trust"
)

// A member remembers which hosts use which tokens, over each protocol, which of them need which secret, and who still sends a deleted
// token.
func TestUsesOfTokensAndSecrets(t *testing.T) {
	t.Parallel()
	older, newer := trust.NewSecret(), trust.NewSecret()
	keys, err := trust.NewKeys(older, newer)
	if err != nil {
		t.Fatal(err)
	}
	log := &lockedBuilder{}
	s := &secured{t: t, keys: keys, log: &lockedBuilder{}}
	s.nodes = startCluster(t, 1, func(cfg *server.Config) {
		cfg.Keys, cfg.ClientTLS, cfg.RedisAddr, cfg.Logger = keys, true, "127.0.0.1:0", slog.New(slog.NewTextHandler(log, nil))
	})
	n := s.nodes[0]
	text, id := s.token("app", "ids:issue:default", "metrics:read")
	pinned, err := grpc.NewClient("passthrough:///"+n.server.APIAddr(), grpc.WithTransportCredentials(credentials.NewTLS(s.pinned(text))))
	if err != nil {
		t.Fatal(err)
	}
	call := func() error {
		_, err := snowraftv1.NewIdServiceClient(pinned).GenerateIds(as(t.Context(), text), &snowraftv1.GenerateIdsRequest{})
		return err
	}
	if err := call(); err != nil {
		t.Fatal(err)
	}
	insecure := &tls.Config{InsecureSkipVerify: true}
	web := &http.Client{Transport: &http.Transport{TLSClientConfig: insecure}}
	defer web.CloseIdleConnections()
	pinnedWeb := &http.Client{Transport: &http.Transport{TLSClientConfig: s.pinned(text)}}
	for range 3 {
		ask(t, web, http.MethodPost, "https://"+n.server.HTTPAddr()+"/id", text)
		ask(t, pinnedWeb, http.MethodPost, "https://"+n.server.HTTPAddr()+"/id", text)
	}
	redis, err := tls.Dial("tcp", n.server.RedisAddr(), insecure)
	if err != nil {
		t.Fatal(err)
	}
	defer redis.Close()
	redisSays(t, redis, "AUTH "+text)

	uses := func() []*snowraftv1.TokenUse {
		resp, err := snowraftv1.NewClusterServiceClient(s.admin(n)).GetStatus(t.Context(), &snowraftv1.GetStatusRequest{Uses: true})
		if err != nil {
			t.Fatal(err)
		}
		return resp.GetUses()
	}
	want := func(host string, id uint64, name, secret, fault string, count uint64, open uint32) {
		t.Helper()
		until(t, "the use is listed", func() bool {
			return slices.ContainsFunc(uses(), func(u *snowraftv1.TokenUse) bool {
				return u.GetHost() == host && u.GetTokenId() == id && u.GetTokenName() == name && u.GetSecretFingerprint() == secret &&
					u.GetFault() == fault && u.GetCount() == count && u.GetOpen() == open && u.GetLastAtMs() > 0
			})
		})
	}
	want("127.0.0.1", id, "app", older.Fingerprint(), "", 2, 2) // gRPC and HTTP
	want("127.0.0.1", id, "app", "", "", 2, 1)                  // HTTP and Redis, of which only HTTP counts as open
	asking := func(secret trust.Secret) float64 {
		_, metrics := ask(t, web, http.MethodGet, "https://"+n.server.HTTPAddr()+"/metrics", text)
		return parseMetrics(metrics).value(t, secretClients+`{fingerprint="`+secret.Fingerprint()+`"}`)
	}
	if o, y := asking(older), asking(newer); o != 2 || y != 0 {
		t.Errorf("%v connections need the older secret, and %v the newer one, want 2 and 0", o, y)
	}

	if _, err := n.server.Member().DeleteToken(t.Context(), id, nil); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if call() == nil {
			t.Error("a deleted token is accepted")
		}
	}
	_ = pinned.Close()
	pinnedWeb.CloseIdleConnections()
	want("127.0.0.1", id, "", "", "unknown", 3, 0)
	want("127.0.0.1", id, "", older.Fingerprint(), "", 2, 0) // closed
	if lines := strings.Count(log.String(), `msg="token refused`); lines != 1 {
		t.Errorf("%d lines about the refused token, want 1: %s", lines, log)
	}
	if resp, err := snowraftv1.NewClusterServiceClient(s.admin(n)).GetStatus(t.Context(), &snowraftv1.GetStatusRequest{}); err != nil || len(resp.GetUses()) > 0 {
		t.Errorf("uses that were not requested: %v, %v", resp.GetUses(), err)
	}
}
