package server_test

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server"
	"github.com/snowraft/snowraft/trust"
)

// startPorts starts a secured member with all ports.
func startPorts(t *testing.T, size int, clientTLS bool) *secured {
	t.Helper()
	keys, err := trust.NewKeys(trust.NewSecret())
	if err != nil {
		t.Fatal(err)
	}
	s := &secured{t: t, keys: keys, log: &lockedBuilder{}}
	s.nodes = startCluster(t, size, func(cfg *server.Config) {
		cfg.Keys, cfg.ClientTLS, cfg.RedisAddr, cfg.ThriftAddr = keys, clientTLS, "127.0.0.1:0", "127.0.0.1:0"
	})
	return s
}

// A caller without a valid token gets an error that names the action, over each protocol.
func TestRefusalsOfCallersNameAction(t *testing.T) {
	t.Parallel()
	s := startPorts(t, 1, false)
	n := s.nodes[0]
	stranger := trust.Token{ID: 1, Secret: trust.NewTokenSecret()}.Text()
	const none, unknown = `Authorization: Bearer TOKEN`, "check its text, or send another token"
	for token, want := range map[string]string{"": none, stranger: unknown} {
		_, err := n.ids.GenerateIds(as(t.Context(), token), &snowraftv1.GenerateIdsRequest{})
		if e := rpc.FromError(err); e.Reason != rpc.Unauthenticated || !strings.Contains(e.Message, want) {
			t.Errorf("gRPC: %v, want %s", err, want)
		}
		for _, path := range []string{"/seq/orders", "/v1/ids:generate"} {
			status, body := ask(t, browser(t), http.MethodPost, "http://"+n.server.HTTPAddr()+path, token)
			if status != http.StatusUnauthorized || !strings.Contains(body, want) {
				t.Errorf("%s: %d %s, want %s", path, status, body, want)
			}
		}
	}
}

// pinned returns the TLS configuration of a client that has a token with its pin.
func (s *secured) pinned(text string) *tls.Config {
	s.t.Helper()
	token, err := trust.ParseToken(text)
	if err != nil {
		s.t.Fatal(err)
	}
	token.Pin = s.keys.Authorities()[0].Pin()
	config, err := trust.ClientTLS{Token: token.Text()}.Config()
	if err != nil {
		s.t.Fatal(err)
	}
	return config
}

func ask(t testing.TB, client *http.Client, method, url, token string) (status int, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatalf("%s %s: %v", method, url, err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(raw)
}

// redis sends lines and returns the answers.
func redisSays(t *testing.T, c net.Conn, lines ...string) []string {
	t.Helper()
	if _, err := io.WriteString(c, strings.Join(lines, "\r\n")+"\r\n"); err != nil {
		t.Fatal(err)
	}
	var answers []string
	for r := bufio.NewReader(c); len(answers) < len(lines); {
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatalf("after %q: %v", answers, err)
		}
		answers = append(answers, strings.TrimSuffix(line, "\r\n"))
	}
	return answers
}

func (s *secured) orders() (token string) {
	s.t.Helper()
	token, _ = s.token("orders", "ids:issue:default", "seq:next:orders", "seq:read:orders")
	_, err := snowraftv1.NewSequenceServiceClient(s.admin(s.nodes[0])).CreateSequence(s.t.Context(),
		&snowraftv1.CreateSequenceRequest{Sequence: &snowraftv1.Sequence{Name: "orders"}})
	if err != nil {
		s.t.Fatal(err)
	}
	return token
}

func TestPortsWithTLS(t *testing.T) {
	t.Parallel()
	s := startPorts(t, 1, true)
	n := s.nodes[0]
	token := s.orders()
	config := s.pinned(token)

	foreign := &tls.Config{RootCAs: x509.NewCertPool()} // this configuration verifies host and time
	foreign.RootCAs.AddCert(s.keys.Authorities()[0].Certificate())
	for who, verifies := range map[string]*tls.Config{"a client with the pin": config, "a client with the CA": foreign} {
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: verifies}}
		for text, want := range map[string]int{"": 401, token: 200} {
			if status, body := ask(t, client, "GET", "https://"+n.server.HTTPAddr()+"/id", text); status != want {
				t.Errorf("%s, token %t: %d %s", who, text != "", status, body)
			}
		}
	}
	if status, body := ask(t, browser(t), "GET", "http://"+n.server.HTTPAddr()+"/id", token); status != 400 || !strings.Contains(body, "HTTPS") {
		t.Errorf("HTTP without TLS: %d %s", status, body)
	}

	c, err := tls.Dial("tcp", n.server.RedisAddr(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if got := redisSays(t, c, "INCR orders", "AUTH "+token, "INCR invoices"); !strings.HasPrefix(got[0], "-NOAUTH ") || got[1] != "+OK" || !strings.HasPrefix(got[2], "-NOPERM ") {
		t.Errorf("Redis: %q", got)
	}
	if got := redisSays(t, c, "INCR orders"); !strings.HasPrefix(got[0], ":") {
		t.Errorf("Redis: %q", got)
	}
	plain := reach(t, n.server.RedisAddr())
	defer plain.Close()
	if got := redisSays(t, plain, "PING"); !strings.HasPrefix(got[0], "-ERR this port speaks TLS only") {
		t.Errorf("Redis without TLS: %q", got)
	}

	if _, err := n.ids.GenerateIds(as(t.Context(), token), &snowraftv1.GenerateIdsRequest{}, grpc.WaitForReady(false)); err == nil {
		t.Error("gRPC without TLS is served")
	}
	conn := connect(t, n.server.APIAddr(), grpc.WithTransportCredentials(credentials.NewTLS(config)))
	defer conn.Close()
	ids := snowraftv1.NewIdServiceClient(conn)
	_, err = ids.GenerateIds(as(t.Context(), token), &snowraftv1.GenerateIdsRequest{})
	wantReason(t, "gRPC over TLS", err, "")
	_, err = ids.GenerateIds(t.Context(), &snowraftv1.GenerateIdsRequest{})
	wantReason(t, "gRPC over TLS without a token", err, rpc.Unauthenticated)
}

// Probes and clients with the CA reach a member that waits for other members and has no observed clock yet, also by a host name
// from its settings.
func TestCertificateWithoutLeader(t *testing.T) {
	t.Parallel()
	keys, err := trust.NewKeys(trust.NewSecret())
	if err != nil {
		t.Fatal(err)
	}
	n := newNode(t, "m1", func(cfg *server.Config) {
		cfg.Keys, cfg.ClientTLS, cfg.BootstrapExpect, cfg.TLSHosts = keys, true, 3, []string{"ids.example.net"}
	}).start()
	if observed := n.server.Member().State().Observed().Load(); observed != 0 {
		t.Fatalf("observes %d", observed)
	}
	for _, host := range []string{"127.0.0.1", "ids.example.net"} {
		foreign := &tls.Config{RootCAs: x509.NewCertPool(), ServerName: host}
		foreign.RootCAs.AddCert(keys.Authorities()[0].Certificate())
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: foreign}}
		if status, body := ask(t, client, "GET", "https://"+n.server.HTTPAddr()+"/readyz", ""); status != 503 {
			t.Errorf("/readyz of %s: %d %s", host, status, body)
		}
	}
}

// When a secret leaves the file, connections with certificates from it end, and connections of clients with a token remain.
func TestReloadEndsConnections(t *testing.T) {
	t.Parallel()
	retiring, staying := trust.NewSecret(), trust.NewSecret()
	file := filepath.Join(t.TempDir(), "secret")
	write := func(secrets ...trust.Secret) {
		t.Helper()
		var text string
		for _, secret := range secrets {
			text += secret.Line() + "\n"
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(retiring, staying)
	keys, err := trust.OpenKeys(file)
	if err != nil {
		t.Fatal(err)
	}
	s := &secured{t: t, keys: keys, log: &lockedBuilder{}}
	s.nodes = startCluster(t, 1, func(cfg *server.Config) { cfg.Keys, cfg.ClientTLS, cfg.RedisAddr = keys, true, "127.0.0.1:0" })
	n := s.nodes[0]
	token := s.orders()
	redis, err := tls.Dial("tcp", n.server.RedisAddr(), s.pinned(token)) // pin of the first secret, which is removed
	if err != nil {
		t.Fatal(err)
	}
	defer redis.Close()
	if got := redisSays(t, redis, "AUTH "+token); got[0] != "+OK" {
		t.Fatalf("%q", got)
	}
	dial := func(secret trust.Secret) *tls.Conn {
		t.Helper()
		alone, err := trust.NewKeys(secret)
		if err != nil {
			t.Fatal(err)
		}
		config, err := trust.ClientTLS{Keys: alone}.Config()
		if err != nil {
			t.Fatal(err)
		}
		config.NextProtos = []string{"h2"}
		c, err := tls.Dial("tcp", n.server.APIAddr(), config)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		if _, err := io.ReadFull(c, make([]byte, 9)); err != nil { // the server's settings: it has verified the certificate
			t.Fatal(err)
		}
		return c
	}
	ending, lasting := dial(retiring), dial(staying)
	write(staying)
	if changed, err := keys.Reload(); err != nil || !changed {
		t.Fatal(changed, err)
	}
	if err := errors.Join(ending.SetReadDeadline(time.Now().Add(patience)), lasting.SetReadDeadline(time.Now().Add(300*time.Millisecond))); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, ending); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("the connection with a certificate of the secret that left is open")
	}
	if _, err := io.Copy(io.Discard, lasting); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the connection with a certificate of the other secret ended: %v", err)
	}
	if got := redisSays(t, redis, "INCR orders"); !strings.HasPrefix(got[0], ":") {
		t.Errorf("the connection with a token: %q", got)
	}
}
