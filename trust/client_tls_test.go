package trust

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// ordinary returns the configuration of a client without knowledge of Snowraft: it verifies the host and the
// time.
func ordinary(ca []byte, host string, now time.Time) *tls.Config {
	config := &tls.Config{RootCAs: x509.NewCertPool(), ServerName: host, Time: func() time.Time { return now }}
	config.RootCAs.AppendCertsFromPEM(ca)
	return config
}

func TestForeignClientsVerifyHosts(t *testing.T) {
	t.Parallel()
	k := keysOf(t, fixed(1), fixed(2))
	now := time.Now()
	s := serve(t, ServerTLS{Keys: k, MemberID: "a", Hosts: []string{"id.example.com", "10.1.2.3", ""}, Now: time.Now}.Config(), nil)
	for host, want := range map[string]bool{
		"id.example.com": true, "10.1.2.3": true, "localhost": true, "127.0.0.1": true, "::1": true,
		"other.example.com": false, "10.1.2.4": false, "example.com": false,
	} {
		for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
			config := ordinary(k.Authorities()[0].PEM(), host, now)
			config.MaxVersion = version
			if _, err := s.talk(config); (err == nil) != want {
				t.Errorf("host %s: %v, want accepted %t", host, err, want)
			}
			if role := k.PeerOf((<-s.answers).state).Role; role != RoleNone {
				t.Errorf("host %s: role %v", host, role)
			}
		}
	}
	if _, err := s.talk(ordinary(k.Authorities()[1].PEM(), "localhost", now)); err == nil {
		t.Error("a secret other than the signing one answers")
	}
	both := slices.Concat(k.Authorities()[0].PEM(), k.Authorities()[1].PEM())
	if _, err := s.talk(ordinary(both, "localhost", now)); err != nil {
		t.Errorf("with both CAs, before the change: %v", err)
	}
	k.Sign(fixed(2).Fingerprint())
	for name, ca := range map[string][]byte{"both CAs": both, "the new CA": k.Authorities()[1].PEM()} {
		if _, err := s.talk(ordinary(ca, "localhost", now)); err != nil {
			t.Errorf("the new signing secret does not answer a client with %s: %v", name, err)
		}
	}
	old := ordinary(nil, "localhost", now)
	old.InsecureSkipVerify, old.MinVersion, old.MaxVersion = true, tls.VersionTLS10, tls.VersionTLS11
	if _, err := s.talk(old); err == nil {
		t.Error("TLS 1.1 is accepted")
	}
}

// The certificate for foreign clients follows the observed clock, in both directions.
func TestHostCertificateFollowsClock(t *testing.T) {
	t.Parallel()
	k := keysOf(t, fixed(1))
	now := time.Date(2030, 5, 1, 12, 0, 0, 0, time.UTC)
	leaves := &hostLeaves{observed: func() time.Time { return now }}
	a := k.Authorities()[0]
	leaf := leaves.of(a)
	for _, step := range []struct {
		to   time.Duration
		same bool
	}{
		{0, true},
		{-23 * time.Hour, true},
		{43 * 24 * time.Hour, true},
		{3 * 24 * time.Hour, false},
		{44 * 24 * time.Hour, true},
		{-48 * time.Hour, true},
		{10 * 365 * 24 * time.Hour, false},
		{-20 * 365 * 24 * time.Hour, false},
	} {
		before := leaf
		now = now.Add(step.to)
		leaf = leaves.of(a)
		if (leaf == before) != step.same {
			t.Errorf("%v later: the same certificate %t, want %t", step.to, leaf == before, step.same)
		}
		if err := ordinaryVerify(a, leaf, now); err != nil {
			t.Errorf("at %v: %v", now, err)
		}
		if leaf.Leaf.NotAfter.Sub(leaf.Leaf.NotBefore) != hostLeafLife {
			t.Errorf("valid for %v", leaf.Leaf.NotAfter.Sub(leaf.Leaf.NotBefore))
		}
	}
	if other := fixed(2).Authority(); ordinaryVerify(other, leaves.of(other), now) != nil {
		t.Error("another authority's certificate is not minted")
	}
}

// A member that has no leader yet, or had none for long, shows a certificate that is valid by the machine's clock.
func TestHostCertificateFollowsMachineWithoutCluster(t *testing.T) {
	t.Parallel()
	a := keysOf(t, fixed(1)).Authorities()[0]
	own := time.Date(2030, 5, 1, 12, 0, 0, 0, time.UTC)
	observed := time.UnixMilli(0)
	leaves := &hostLeaves{observed: func() time.Time { return observed }, machine: func() time.Time { return own }}
	for _, step := range []struct {
		name     string
		observed time.Time
		valid    time.Time
	}{
		{"before bootstrap", time.UnixMilli(0), own},
		{"after a year without a leader", own.AddDate(-1, 0, 0), own},
		{"more than the life behind", own.Add(-hostLeafLife - time.Second), own},
		{"the life behind", own.Add(-hostLeafLife), own.Add(-hostLeafLife)},
		{"with a leader", own.Add(-time.Minute), own},
		{"ahead", own.AddDate(3, 0, 0), own.AddDate(3, 0, 0)},
	} {
		observed = step.observed
		if err := ordinaryVerify(a, leaves.of(a), step.valid); err != nil {
			t.Errorf("%s: %v", step.name, err)
		}
	}
}

func ordinaryVerify(a *Authority, leaf *tls.Certificate, now time.Time) error {
	_, err := leaf.Leaf.Verify(x509.VerifyOptions{Roots: a.pool, CurrentTime: now, DNSName: "localhost"})
	return err
}

// files writes an operator's custom certificate for a host, and returns its CA.
func files(t *testing.T, dir string, secret Secret, host string) []byte {
	t.Helper()
	return filesAt(t, dir, secret, host, time.Now())
}

// filesAt is files for a certificate that is issued at a time.
func filesAt(t *testing.T, dir string, secret Secret, host string, issued time.Time) []byte {
	t.Helper()
	a := secret.Authority()
	own := &Authority{key: a.key}
	template := *a.cert
	template.RawSubject, template.Subject = nil, pkix.Name{CommonName: "Operator"}
	own.cert = own.sign(&template, &template, a.key.Public(), nil)
	leaf := own.hostLeaf([]string{host}, issued)
	key, err := x509.MarshalPKCS8PrivateKey(leaf.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{
		"cert": {Type: "CERTIFICATE", Bytes: leaf.Certificate[0]}, "key": {Type: "PRIVATE KEY", Bytes: key},
	} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return own.PEM()
}

func TestClientTrustSources(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	operator := files(t, dir, fixed(9), "id.example.com")
	own, err := LoadOwnCertificate(filepath.Join(dir, "cert"), filepath.Join(dir, "key"), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	older, newer, other := fixed(1), fixed(2), fixed(3)
	k := keysOf(t, newer, older)
	servers := map[string]*server{
		"member":              serve(t, ServerTLS{Keys: k, MemberID: "a", Now: time.Now}.Config(), nil),
		"member with its own": serve(t, ServerTLS{Keys: k, MemberID: "a", Now: time.Now, Own: own}.Config(), nil),
		"gateway":             serve(t, ServerTLS{Own: own, Now: time.Now}.Config(), nil),
	}
	token := func(s Secret) string { return Token{ID: 1, Pin: s.Authority().Pin()}.Text() }
	member, owned := []string{"member", "member with its own"}, []string{"member with its own", "gateway"}
	for name, c := range map[string]struct {
		tls   ClientTLS
		hosts string // empty means 127.0.0.1
		want  []string
		role  Role
	}{
		"token of the signing secret": {tls: ClientTLS{Token: token(newer)}, want: member},
		"token of the other secret":   {tls: ClientTLS{Token: token(older)}, want: member},
		"token of another cluster":    {tls: ClientTLS{Token: token(other)}},
		"CA":                          {tls: ClientTLS{CA: older.Authority().PEM()}, want: member},
		"CA of another cluster":       {tls: ClientTLS{CA: other.Authority().PEM()}},
		"CA of both":                  {tls: ClientTLS{CA: append(other.Authority().PEM(), older.Authority().PEM()...)}, want: member},
		"CA and token":                {tls: ClientTLS{CA: other.Authority().PEM(), Token: token(older)}, want: member},
		"secret":                      {tls: ClientTLS{Keys: keysOf(t, other, older)}, want: member, role: RoleAdmin},
		"other secret":                {tls: ClientTLS{Keys: keysOf(t, other)}},
		"secret and foreign CA":       {tls: ClientTLS{Keys: keysOf(t, older), CA: operator}, want: member, role: RoleAdmin},
		"foreign CA, other host":      {tls: ClientTLS{CA: operator, Token: token(older)}, hosts: "other.example.com"},
		"foreign CA":                  {tls: ClientTLS{CA: operator, Token: token(older)}, hosts: "id.example.com", want: owned},
		"all CAs":                     {tls: ClientTLS{CA: append(operator, newer.Authority().PEM()...)}, want: []string{"member", "member with its own", "gateway"}},
	} {
		config, err := c.tls.Config()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if c.hosts != "" {
			config.ServerName = c.hosts
		}
		for server, s := range servers {
			_, err := s.talk(config)
			want := slices.Contains(c.want, server)
			if (err == nil) != want {
				t.Errorf("%s: %s: %v, want accepted %t", name, server, err, want)
			}
			if got := k.PeerOf((<-s.answers).state).Role; want && got != c.role {
				t.Errorf("%s: %s: role %v, want %v", name, server, got, c.role)
			}
		}
	}
}

func TestClientReportsSecretOfServer(t *testing.T) {
	t.Parallel()
	s := serve(t, ServerTLS{Keys: keysOf(t, fixed(1)), MemberID: "a", Now: time.Now}.Config(), nil)
	config, err := ClientTLS{CA: fixed(2).Authority().PEM()}.Config()
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.talk(config)
	var stranger *UnknownIssuerError
	if !errors.As(err, &stranger) || stranger.Fingerprint != fixed(1).Fingerprint() {
		t.Errorf("%v, want a UnknownIssuerError with the fingerprint of the server's secret", err)
	}
}

func TestClientTLSWithoutAnything(t *testing.T) {
	t.Parallel()
	for _, c := range []ClientTLS{{}, {Token: Token{ID: 1}.Text()}} {
		if config, err := c.Config(); config != nil || err != nil {
			t.Errorf("Config() = %v, %v, want plain TCP", config, err)
		}
	}
	for _, c := range []ClientTLS{
		{Token: "x"}, {CA: []byte("x")}, {CA: []byte("-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n")},
		{CA: []byte("-----BEGIN EC PRIVATE KEY-----\nAA==\n-----END EC PRIVATE KEY-----\n")},
	} {
		if config, err := c.Config(); config != nil || err == nil {
			t.Errorf("Config() = %v, %v, want an error", config, err)
		}
	}
}

func TestServerWithoutCertificateRefuses(t *testing.T) {
	t.Parallel()
	s := serve(t, ServerTLS{Now: time.Now}.Config(), nil)
	if _, err := s.talk(&tls.Config{InsecureSkipVerify: true}); err == nil {
		t.Error("a server without a certificate answers")
	}
}

func TestProtocolsAreNegotiated(t *testing.T) {
	t.Parallel()
	k := keysOf(t, fixed(1))
	s := serve(t, ServerTLS{Keys: k, MemberID: "a", Now: time.Now, Protocols: []string{"h2", "http/1.1"}}.Config(), nil)
	member := k.MemberClient("b")
	foreign := ordinary(k.Authorities()[0].PEM(), "localhost", time.Now())
	for _, config := range []*tls.Config{member, foreign} {
		config.NextProtos = []string{"http/1.1", "h2"}
		if state, err := s.talk(config); err != nil || state.NegotiatedProtocol != "h2" {
			t.Errorf("protocol %q, %v, want h2", state.NegotiatedProtocol, err)
		}
	}
}

func TestOwnCertificateReload(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert"), filepath.Join(dir, "key")
	if _, err := LoadOwnCertificate(cert, key, time.Now); err == nil {
		t.Fatal("no error without files")
	}
	first := files(t, dir, fixed(8), "id.example.com")
	own, err := LoadOwnCertificate(cert, key, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	s := serve(t, ServerTLS{Own: own, Now: time.Now}.Config(), nil)
	expect := func(step string, ca []byte) {
		t.Helper()
		if _, err := s.talk(ordinary(ca, "id.example.com", time.Now())); err != nil {
			t.Errorf("%s: %v", step, err)
		}
	}
	reload := func(step string, want, fails bool) {
		t.Helper()
		if changed, err := own.Reload(); changed != want || (err != nil) != fails {
			t.Errorf("%s: Reload() = %t, %v", step, changed, err)
		}
	}
	reload("unchanged", false, false)
	expect("unchanged", first)
	oldCert, err := os.ReadFile(cert)
	if err != nil {
		t.Fatal(err)
	}
	second := files(t, dir, fixed(9), "id.example.com")
	newCert, err := os.ReadFile(cert)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(cert, oldCert, 0o600); err != nil {
		t.Fatal(err)
	}
	reload("key without its certificate", false, true)
	expect("key without its certificate", first)
	if err := os.WriteFile(cert, newCert, 0o600); err != nil {
		t.Fatal(err)
	}
	reload("both", true, false)
	expect("both", second)
	if left := time.Until(own.NotAfter()); left < 80*24*time.Hour || left > 90*24*time.Hour {
		t.Errorf("NotAfter() is in %v", left)
	}
}
