//go:build process

package processtest

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"strings"
	"testing"

	"github.com/snowraft/snowraft/client"
	"github.com/snowraft/snowraft/internal/test/freeport"
	"github.com/snowraft/snowraft/trust"
)

// A gateway with a certificate serves only clients that verify it, over every protocol.
func TestGatewayOfSecuredMembers(t *testing.T) {
	t.Parallel()
	m := newCluster(t, 1)[0].secured(trust.NewSecret()).start()
	m.untilIssues()
	own, token := m.firstToken("gateway", "tokens:verify", "ids:issue:*"), m.firstToken("app", "ids:issue:default")

	cert, key := certificate(t)
	redisAddr := freeport.Address(t)
	g := newMember(t, "g1", "--redis-addr", redisAddr, "--tls-cert", cert, "--tls-key", key)
	g.gateway([]string{"SNOWRAFT_TOKEN=" + own}, m)
	ca, err := os.ReadFile(cert)
	if err != nil {
		t.Fatal(err)
	}
	c := dialCluster(t, []*member{g}, client.WithToken(token), client.WithCA(ca))
	until(t, "a client gets an ID from the gateway", func() bool {
		_, err := c.NextID(t.Context())
		return err == nil
	})
	for range 100 {
		if _, err := c.NextID(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	env := append(at(g), "SNOWRAFT_TOKEN="+token)
	if _, stderr, code := command(t, env, "id", "--ca-file", cert); code != 0 {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	other, _ := certificate(t)
	for what, args := range map[string][]string{"another CA": {"--ca-file", other}, "the pin alone": nil} {
		if stdout, stderr, code := command(t, env, append([]string{"id", "--timeout", "2s"}, args...)...); code == 0 || !strings.Contains(stderr, "certificate") {
			t.Errorf("with %s: exit code %d, %s%s", what, code, stdout, stderr)
		}
	}

	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	for what, call := range callersOf(t, g, redisAddr, &tls.Config{RootCAs: pool}, token) {
		if err := call(); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	g.stop()
}
