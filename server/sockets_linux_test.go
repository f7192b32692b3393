package server_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server"
	"github.com/snowraft/snowraft/server/gateway"
	"github.com/snowraft/snowraft/server/socket"
	"github.com/snowraft/snowraft/trust"
)

// socketsIn returns the sockets of a process in a new directory with a short name.
func socketsIn(t *testing.T) (overHTTP, redis socket.File) {
	t.Helper()
	dir, err := os.MkdirTemp("", "sockets") //nolint:usetesting // a short path, as sockets require
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return socket.File{Path: filepath.Join(dir, "http.sock"), Mode: 0o666}, socket.File{Path: filepath.Join(dir, "redis.sock"), Mode: 0o660}
}

// through returns an HTTP client whose connections go to a socket.
func through(t *testing.T, at socket.File) *http.Client {
	t.Helper()
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", at.Path)
	}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func dialSocket(t *testing.T, at socket.File) net.Conn {
	t.Helper()
	c, err := new(net.Dialer).DialContext(t.Context(), "unix", at.Path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// wantModes fails unless both sockets have their modes.
func wantModes(t *testing.T, sockets ...socket.File) {
	t.Helper()
	for _, at := range sockets {
		if info, err := os.Lstat(at.Path); err != nil || info.Mode() != os.ModeSocket|at.Mode {
			t.Errorf("%s: %v, %v, want a socket of mode %v", at.Path, info, err, at.Mode)
		}
	}
}

// A member serves HTTP and Redis over sockets, also without a Redis port, and removes the sockets at its end.
func TestSocketsOfOpenMember(t *testing.T) {
	t.Parallel()
	overHTTP, redis := socketsIn(t)
	n := startCluster(t, 1, func(c *server.Config) {
		c.HTTPSocket, c.RedisSocket, c.RedisCreate = overHTTP, redis, "strict"
	})[0]
	wantModes(t, overHTTP, redis)
	if n.server.RedisAddr() != "" {
		t.Errorf("Redis address %s, want none", n.server.RedisAddr())
	}
	if got := redisSays(t, dialSocket(t, redis), "INCR orders", "INCR orders"); !slices.Equal(got, []string{":1", ":2"}) {
		t.Errorf("Redis answers %q", got)
	}
	web := through(t, overHTTP)
	if status, body := ask(t, web, http.MethodPost, "http://localhost/seq/orders", ""); status != http.StatusOK || body != "3\n" {
		t.Errorf("HTTP answers %d %q, want the number 3", status, body)
	}
	if status, body := ask(t, web, http.MethodGet, "http://localhost/readyz", ""); status != http.StatusOK || body != "ok\n" {
		t.Errorf("/readyz: %d %q", status, body)
	}
	n.stop()
	if left, err := os.ReadDir(filepath.Dir(redis.Path)); err != nil || len(left) > 0 {
		t.Errorf("after the end of the member: %v, %v, want no files", left, err)
	}
}

// The rules about host names hold for a socket, because a proxy may pass on the requests of browsers.
func TestSocketsRefuseReboundNames(t *testing.T) {
	t.Parallel()
	overHTTP, _ := socketsIn(t)
	startCluster(t, 1, func(c *server.Config) { c.HTTPSocket = overHTTP })
	web := through(t, overHTTP)
	for host, want := range map[string]int{"localhost": http.StatusOK, "rebound.example": http.StatusForbidden} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+host+"/v1/config", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Accept-Language", "en")
		resp, err := web.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("a browser's request to %s: %d, want %d", host, resp.StatusCode, want)
		}
	}
}

// Over a socket of a secured member, callers speak no TLS and have the rights of their tokens. The member knows them as processes.
func TestSocketsOfSecuredMember(t *testing.T) {
	t.Parallel()
	overHTTP, redis := socketsIn(t)
	keys, err := trust.NewKeys(trust.NewSecret())
	if err != nil {
		t.Fatal(err)
	}
	s := &secured{t: t, keys: keys, log: &lockedBuilder{}}
	s.nodes = startCluster(t, 1, func(c *server.Config) {
		c.Keys, c.ClientTLS, c.HTTPSocket, c.RedisSocket = keys, true, overHTTP, redis
		c.AuditLog = trust.NewAuditLog(s.log, c.Logger)
	})
	app, id := s.token("app", "seq:next:orders", "seq:admin:orders")
	other, _ := s.token("other", "seq:next:bills")
	stranger := trust.Token{ID: 99, Secret: trust.NewTokenSecret()}.Text()
	web := through(t, overHTTP)
	create := func(token string) (int, string) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/v1/sequences", strings.NewReader(`{"name":"orders"}`))
		if err != nil {
			t.Fatal(err)
		}
		if token != "" {
			req.Header.Set("Authorization", "Bearer "+token)
		}
		resp, err := web.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		return resp.StatusCode, resp.Status
	}
	for _, c := range []struct {
		token         string
		status, taken int
		login, incr   string
	}{
		{"", http.StatusUnauthorized, http.StatusUnauthorized, "", "-NOAUTH"},
		{stranger, http.StatusUnauthorized, http.StatusUnauthorized, "-WRONGPASS", "-NOAUTH"},
		{other, http.StatusForbidden, http.StatusForbidden, "+OK", "-NOPERM"},
		{app, http.StatusOK, http.StatusOK, "+OK", ":2"},
	} {
		if status, text := create(c.token); status != c.status {
			t.Errorf("create with token %q: %s, want %d", c.token, text, c.status)
		}
		if status, body := ask(t, web, http.MethodPost, "http://localhost/seq/orders", c.token); status != c.taken {
			t.Errorf("number with token %q: %d %s, want %d", c.token, status, body, c.taken)
		}
		lines := []string{"INCR orders"}
		if c.token != "" {
			lines = []string{"AUTH " + c.token, "INCR orders"}
		}
		got := redisSays(t, dialSocket(t, redis), lines...)
		if !strings.HasPrefix(got[len(got)-1], c.incr) || !strings.HasPrefix(got[0], c.login) {
			t.Errorf("Redis with token %q: %q, want %s and %s", c.token, got, c.login, c.incr)
		}
	}
	user := fmt.Sprintf("unix:uid=%d", os.Getuid())
	process := fmt.Sprintf("%s,pid=%d", user, os.Getpid())
	if !strings.Contains(s.log.String(), process) {
		t.Errorf("the audit log lacks %s: %s", process, s.log)
	}
	resp, err := snowraftv1.NewClusterServiceClient(s.admin(s.nodes[0])).GetStatus(t.Context(), &snowraftv1.GetStatusRequest{Uses: true})
	if err != nil || !slices.ContainsFunc(resp.GetUses(), func(u *snowraftv1.TokenUse) bool { return u.GetHost() == user && u.GetTokenId() == id }) {
		t.Errorf("uses %v, %v, want the token at %s", resp.GetUses(), err, user)
	}
}

// A gateway serves sockets too.
func TestSocketsOfGateway(t *testing.T) {
	t.Parallel()
	overHTTP, redis := socketsIn(t)
	n := startCluster(t, 1, func(c *server.Config) { c.RedisCreate = "strict" })[0]
	g := openGatewayWith(t, gateway.Config{Members: []string{n.server.APIAddr()}, HTTPSocket: overHTTP, RedisSocket: redis})
	until(t, "the gateway is ready", func() bool { return g.Ready() == nil })
	wantModes(t, overHTTP, redis)
	if got := redisSays(t, dialSocket(t, redis), "INCR orders"); !slices.Equal(got, []string{":1"}) {
		t.Errorf("Redis answers %q", got)
	}
	if status, body := ask(t, through(t, overHTTP), http.MethodPost, "http://localhost/seq/orders", ""); status != http.StatusOK || body != "2\n" {
		t.Errorf("HTTP answers %d %q, want the number 2", status, body)
	}
}

// A member whose socket is in use does not start, and leaves the socket and its own ports alone.
func TestSocketInUseStopsStart(t *testing.T) {
	t.Parallel()
	_, redis := socketsIn(t)
	startCluster(t, 1, func(c *server.Config) { c.RedisSocket = redis })
	other := newNode(t, "other", func(c *server.Config) { c.RedisSocket = redis })
	if _, err := server.Open(t.Context(), other.cfg); err == nil || !strings.HasPrefix(err.Error(), "--redis-socket "+redis.Path+": another process") {
		t.Errorf("Open() = %v, want an error that names the setting", err)
	}
	if _, err := os.Stat(other.cfg.DataDir); err == nil {
		t.Error("the refused member created its data directory")
	}
	if got := redisSays(t, dialSocket(t, redis), "INCR nothing"); !strings.Contains(got[0], "does not exist") {
		t.Errorf("Redis answers %q", got)
	}
}
