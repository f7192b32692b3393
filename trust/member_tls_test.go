package trust

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Members whose files differ during a rotation accept each other while they share one secret.
func TestMembersShareOneSecret(t *testing.T) {
	t.Parallel()
	older, newer, other := fixed(1), fixed(2), fixed(3)
	sets := [][]Secret{{older}, {newer, older}, {older, newer}, {newer}, {other}, {other, older}}
	for _, of := range sets {
		for _, from := range sets {
			for _, signing := range from {
				shared := false
				for _, a := range of {
					for _, b := range from {
						shared = shared || a.Equal(b)
					}
				}
				t.Run(fmt.Sprint("server ", of, " client ", from, " signing ", signing), func(t *testing.T) {
					t.Parallel()
					server, client := keysOf(t, of...), keysOf(t, from...)
					client.Sign(signing.Fingerprint())
					raft := serve(t, server.MemberServer("a"), nil)
					api := serve(t, ServerTLS{Keys: server, MemberID: "a", Now: time.Now}.Config(), nil)
					expect(t, raft, server, client, shared)
					expect(t, api, server, client, shared)
				})
			}
		}
	}
}

// expect dials member a as member b.
func expect(t *testing.T, s *server, server, client *Keys, shared bool) {
	t.Helper()
	_, err := s.talk(client.MemberClient("b"))
	seen := <-s.answers
	if !shared {
		var stranger *UnknownIssuerError
		if !errors.As(err, &stranger) || stranger.Fingerprint != server.Signing().Fingerprint() {
			t.Errorf("client: %v, want a UnknownIssuerError with the server's secret", err)
		}
		if !Refused(seen.err) {
			t.Errorf("server: %v, want its refusal by the client", seen.err)
		}
		return
	}
	if err != nil || seen.err != nil {
		t.Fatalf("client: %v, server: %v", err, seen.err)
	}
	if peer := server.PeerOf(seen.state); peer.Role != RoleMember || peer.ID != "b" || server.set.Load().index(peer.Fingerprint) < 0 {
		t.Errorf("PeerOf() = %+v, want the member b", peer)
	}
}

// The server uses the client's first secret that it knows.
func TestClientPrefersItsSigningSecret(t *testing.T) {
	t.Parallel()
	older, newer := fixed(1), fixed(2)
	server := keysOf(t, older, newer)
	s := serve(t, server.MemberServer("a"), nil)
	for _, want := range []Secret{older, newer} {
		client := keysOf(t, newer, older)
		client.Sign(want.Fingerprint())
		if _, err := s.talk(client.MemberClient("b")); err != nil {
			t.Fatal(err)
		}
		if got := server.PeerOf((<-s.answers).state).Fingerprint; got != want.Fingerprint() {
			t.Errorf("used %s, want %s", got, want.Fingerprint())
		}
	}
}

func TestMemberClientChecksMember(t *testing.T) {
	t.Parallel()
	k := keysOf(t, fixed(1))
	raft := serve(t, k.MemberServer("a"), nil)
	gateway := serve(t, ServerTLS{Keys: k, Now: time.Now}.Config(), nil)
	if _, err := raft.talk(k.MemberClient("b")); err != nil {
		t.Errorf("any member: %v", err)
	}
	connect := func(s *server, peer string) error {
		t.Helper()
		conn, err := (&net.Dialer{Timeout: patience}).Dial("tcp", s.addr)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		_, err = k.ConnectMember(t.Context(), conn, "b", peer)
		return err
	}
	if err := connect(raft, "a"); err != nil {
		t.Errorf("the member: %v", err)
	}
	if err := connect(raft, "c"); err == nil || !strings.Contains(err.Error(), `expected that of "c"`) {
		t.Errorf("wrong member: %v", err)
	}
	if _, err := gateway.talk(k.MemberClient("b")); err == nil {
		t.Error("a process that is not a member passes for any member")
	}
	if err := connect(gateway, "a"); err == nil {
		t.Error("a process that is not a member passes for \"a\"")
	}
}

// strange returns the configuration of a client that dials with the pins of k and presents cert.
func strange(k *Keys, cert *tls.Certificate) *tls.Config {
	config := &tls.Config{InsecureSkipVerify: true, ServerName: serverName(k.set.Load().preferred())}
	if cert != nil {
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return cert, nil }
	}
	return config
}

func TestStrangersAreRefused(t *testing.T) {
	t.Parallel()
	k := keysOf(t, fixed(1))
	ours, theirs := fixed(1).Authority(), fixed(2).Authority()
	member := Peer{Role: RoleMember, ID: "b"}
	posing := fixed(2).Authority()
	posing.cert = ours.cert // names the right authority as issuer, but has another key
	admin := k.AdminCertificate()
	raft := serve(t, k.MemberServer("a"), nil)
	api := serve(t, ServerTLS{Keys: k, MemberID: "a", Now: time.Now}.Config(), nil)
	for name, c := range map[string]struct {
		cert    *tls.Certificate
		raft    bool
		api     bool
		apiRole Role
	}{
		"member":                {ours.leaf(member, x509.ExtKeyUsageClientAuth), true, true, RoleMember},
		"none":                  {nil, false, true, RoleNone},
		"of another secret":     {theirs.leaf(member, x509.ExtKeyUsageClientAuth), false, false, RoleNone},
		"admin":                 {&admin, false, true, RoleAdmin},
		"for servers":           {ours.leaf(member, x509.ExtKeyUsageServerAuth), false, false, RoleNone},
		"without a role":        {ours.leaf(Peer{}, x509.ExtKeyUsageClientAuth), false, true, RoleNone},
		"of hosts":              {ours.hostLeaf(nil, time.Now()), false, false, RoleNone},
		"the authority's":       {&tls.Certificate{Certificate: [][]byte{ours.cert.Raw}, PrivateKey: theirs.key}, false, false, RoleNone},
		"signed by another key": {forge(posing, member), false, false, RoleNone},
	} {
		_, err := raft.talk(strange(k, c.cert))
		if (err == nil) != c.raft {
			t.Errorf("certificate %s: Raft port: %v, want accepted %t", name, err, c.raft)
		}
		if (<-raft.answers).err == nil != c.raft {
			t.Errorf("certificate %s: the Raft port's own judgment differs", name)
		}
		_, err = api.talk(strange(k, c.cert))
		if (err == nil) != c.api {
			t.Errorf("certificate %s: API port: %v, want accepted %t", name, err, c.api)
		}
		if got := k.PeerOf((<-api.answers).state).Role; got != c.apiRole {
			t.Errorf("certificate %s: role %v at the API port, want %v", name, got, c.apiRole)
		}
	}
}

// forge returns a leaf that the key of a has signed, whatever the certificate of a is.
func forge(a *Authority, p Peer) *tls.Certificate {
	key := a.key
	template := &x509.Certificate{SerialNumber: authoritySerial, NotBefore: beginning, NotAfter: ending,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	template.URIs = append(template.URIs, &url.URL{Scheme: uriScheme, Path: p.path()})
	parent := *a.cert
	parent.PublicKey = key.Public()
	der, err := x509.CreateCertificate(nil, template, &parent, key.Public(), key)
	if err != nil {
		panic(err)
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// In TLS 1.3, a client's handshake ends before the server has verified the client.
func TestDialerLearnsRefusalAtFirstRead(t *testing.T) {
	t.Parallel()
	k := keysOf(t, fixed(1))
	s := serve(t, k.MemberServer("a"), nil)
	conn, err := tls.Dial("tcp", s.addr, strange(k, fixed(2).Authority().leaf(Peer{Role: RoleMember, ID: "b"}, x509.ExtKeyUsageClientAuth)))
	if err != nil {
		t.Fatalf("the handshake failed: %v", err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetReadDeadline(time.Now().Add(patience))
	if _, err := conn.Read(make([]byte, 1)); !Refused(err) {
		t.Errorf("Read() = %v, want a refusal", err)
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	for _, err := range []error{nil, net.ErrClosed, &net.OpError{Op: "read", Err: net.ErrClosed}, &UnknownIssuerError{}} {
		if Refused(err) {
			t.Errorf("Refused(%v) = true", err)
		}
	}
}

func TestMemberPortsTakeTLS13Only(t *testing.T) {
	t.Parallel()
	k := keysOf(t, fixed(1))
	s := serve(t, k.MemberServer("a"), nil)
	config := k.MemberClient("b")
	config.MinVersion, config.MaxVersion = tls.VersionTLS12, tls.VersionTLS12
	if _, err := s.talk(config); err == nil {
		t.Error("TLS 1.2 is accepted")
	}
}

// A resumed session would bypass the present secrets.
func TestSessionsAreNotResumed(t *testing.T) {
	t.Parallel()
	k := keysOf(t, fixed(1))
	for name, s := range map[string]*server{
		"Raft": serve(t, k.MemberServer("a"), nil),
		"API":  serve(t, ServerTLS{Keys: k, MemberID: "a", Now: time.Now}.Config(), nil),
	} {
		config := k.MemberClient("b")
		config.ClientSessionCache = tls.NewLRUClientSessionCache(1)
		for range 3 {
			if state, err := s.talk(config); err != nil || state.DidResume {
				t.Errorf("%s port: resumed %t, %v", name, state.DidResume, err)
			}
		}
	}
}

// The clock of a bubble starts in 2000, before all certificates are valid, and later passes 2100, after their
// end.
func TestMembersNeverJudgeTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := keysOf(t, fixed(1))
		token := Token{ID: 1, Pin: k.Authorities()[0].Pin()}.Text()
		for _, years := range []int{0, 50, 51} {
			time.Sleep(time.Duration(years) * 365 * 24 * time.Hour)
			api := ServerTLS{Keys: k, MemberID: "a", Now: time.Now}.Config()
			pinned, err := ClientTLS{Token: token}.Config()
			if err != nil {
				t.Fatal(err)
			}
			admin, err := ClientTLS{Keys: k}.Config()
			if err != nil {
				t.Fatal(err)
			}
			for name, pair := range map[string][2]*tls.Config{
				"member at the Raft port": {k.MemberServer("a"), k.MemberClient("b")},
				"member at the API port":  {api, k.MemberClient("b")},
				"client with a token":     {api, pinned},
				"administrator":           {api, admin},
			} {
				here, there := net.Pipe()
				go func() {
					server := tls.Server(there, pair[0])
					_, _ = server.Write([]byte("x"))
					_ = server.Close()
				}()
				client := tls.Client(here, pair[1])
				if _, err := client.Read(make([]byte, 1)); err != nil {
					t.Errorf("in %d: %s: %v", time.Now().Year(), name, err)
				}
				_ = client.Close()
			}
		}
	})
}

func BenchmarkHandshake(b *testing.B) {
	k := keysOf(b, fixed(1))
	s := serve(b, k.MemberServer("a"), nil)
	for b.Loop() {
		if _, err := s.talk(k.MemberClient("b")); err != nil {
			b.Fatal(err)
		}
	}
}
