package server_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/snowraft/snowraft/internal/rpc"
	"github.com/snowraft/snowraft/server"
	"github.com/snowraft/snowraft/trust"
)

// operatorCertificate returns a certificate that no secret of the test's cluster issued.
func operatorCertificate(t *testing.T) *trust.OwnCertificate {
	t.Helper()
	foreign, err := trust.NewKeys(trust.NewSecret())
	if err != nil {
		t.Fatal(err)
	}
	pair := foreign.AdminCertificate()
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, block := range map[string]*pem.Block{
		"cert": {Type: "CERTIFICATE", Bytes: pair.Certificate[0]}, "key": {Type: "PRIVATE KEY", Bytes: key},
	} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	own, err := trust.LoadOwnCertificate(filepath.Join(dir, "cert"), filepath.Join(dir, "key"), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	return own
}

// A member answers a client without a token with the CA that signed the certificate of the client's connection. The pin in the
// server name chooses it, also while the member has the operator's certificate.
func TestCAOfConnection(t *testing.T) {
	t.Parallel()
	keys, err := trust.NewKeys(trust.NewSecret(), trust.NewSecret())
	if err != nil {
		t.Fatal(err)
	}
	signing, second := keys.Authorities()[0].Pin(), keys.Authorities()[1].Pin()
	unknown := trust.NewSecret().Authority().Pin()
	for name, own := range map[string]*trust.OwnCertificate{"": nil, "with the operator's certificate": operatorCertificate(t)} {
		n := newNode(t, "m1", func(cfg *server.Config) {
			cfg.Keys, cfg.ClientTLS, cfg.BootstrapExpect, cfg.OwnCertificate = keys, true, 3, own
		}).start()
		for _, tc := range []struct {
			serverName string
			pin        string // empty: none
		}{
			{signing, signing}, {second, second}, {unknown + "." + second, second}, {"", signing}, {unknown, signing}, {"ids.example.com", signing},
		} {
			if own != nil && tc.serverName != tc.pin && !strings.HasSuffix(tc.serverName, "."+tc.pin) {
				tc.pin = ""
			}
			var leaf *x509.Certificate
			client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{
				ServerName: tc.serverName, InsecureSkipVerify: true, // the test verifies the answer
				VerifyConnection: func(state tls.ConnectionState) error { leaf = state.PeerCertificates[0]; return nil },
			}}}
			status, body := ask(t, client, http.MethodGet, "https://"+n.server.HTTPAddr()+"/v1/ca", "")
			if tc.pin == "" {
				if status != http.StatusBadRequest || !strings.Contains(body, rpc.InvalidArgument) {
					t.Errorf("%s, server name %q: %d %s", name, tc.serverName, status, body)
				}
				continue
			}
			var answer struct{ CA string }
			if err := json.Unmarshal([]byte(body), &answer); err != nil || status != http.StatusOK {
				t.Errorf("%s, server name %q: %d %s", name, tc.serverName, status, body)
				continue
			}
			block, _ := pem.Decode([]byte(answer.CA))
			ca, err := x509.ParseCertificate(block.Bytes)
			if err != nil {
				t.Fatal(err)
			}
			if want := (trust.ServerTLS{Keys: keys}).Authority(tc.pin); want.Pin() != tc.pin || string(want.PEM()) != answer.CA || leaf.CheckSignatureFrom(ca) != nil {
				t.Errorf("%s, server name %q: answered with another CA, which signed the certificate: %v", name, tc.serverName, leaf.CheckSignatureFrom(ca))
			}
		}
	}
}

// Without TLS, there is no CA to return.
func TestNoCAWithoutTLS(t *testing.T) {
	t.Parallel()
	keys, err := trust.NewKeys(trust.NewSecret())
	if err != nil {
		t.Fatal(err)
	}
	open := newNode(t, "m1", func(cfg *server.Config) { cfg.BootstrapExpect = 3 }).start()
	plain := newNode(t, "m2", func(cfg *server.Config) { cfg.Keys, cfg.BootstrapExpect = keys, 3 }).start()
	for _, tc := range []struct {
		n      *node
		method string
		status int
		reason string
	}{
		{open, "GET", 400, rpc.ClusterOpen},
		{plain, "GET", 400, rpc.InvalidArgument},
		{open, "POST", 405, rpc.MethodNotAllowed},
	} {
		if status, body := ask(t, browser(t), tc.method, "http://"+tc.n.server.HTTPAddr()+"/v1/ca", ""); status != tc.status || !strings.Contains(body, tc.reason) {
			t.Errorf("%s: %d %s, want %s", tc.method, status, body, tc.reason)
		}
	}
}
