//go:build process

package processtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/snowraft/snowraft/client"
	"github.com/snowraft/snowraft/trust"
)

// certificate makes a certificate for loopback, which is its own CA, and returns the paths of its files.
func certificate(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "a company's CA"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: raw}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

// A gateway with a certificate serves clients that verify it, over every protocol, and no others. A token that was deleted gets
// nothing from it after the 30 s for which the gateway remembers what members said.
func TestGatewayOfSecuredMembers(t *testing.T) {
	t.Parallel()
	m := newCluster(t, 1)[0].secured(trust.NewSecret()).start()
	m.untilIssues()
	own, token := m.firstToken("gateway", "tokens:verify", "ids:issue:*"), m.firstToken("app", "ids:issue:default")

	cert, key := certificate(t)
	redisAddr := freeAddress(t)
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
	callers := callersOf(t, g, redisAddr, &tls.Config{RootCAs: pool}, token)
	stopsIssuing(t, callers, 20*time.Millisecond, 31*time.Second, func() { m.deleteToken("app") })
	g.stop()
}
