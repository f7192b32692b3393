package trust

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strings"
)

// pinSeparator joins the pins of a client into one server name.
const pinSeparator = "."

// serverName returns the pins of authorities as a server name.
func serverName(authorities []*Authority) string {
	pins := make([]string, len(authorities))
	for i, a := range authorities {
		pins[i] = a.pin
	}
	return strings.Join(pins, pinSeparator)
}

// chosen returns the authority of the first pin in a client's server name that the set contains; nil if it
// contains none.
func (s *keySet) chosen(serverName string) *Authority {
	for pin := range strings.SplitSeq(serverName, pinSeparator) {
		for _, a := range s.authorities {
			if a.pin == pin {
				return a
			}
		}
	}
	return nil
}

// MemberServer returns the configuration of a port that serves members only, for the member with the ID self.
// The client sends the pins of its secrets in its server name, and the server uses the first of these secrets
// that it has. A client without a common secret gets the certificate of the signing secret, so that the client
// can report the reason.
func (k *Keys) MemberServer(self string) *tls.Config {
	config := base(tls.VersionTLS13)
	config.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		set := k.set.Load()
		a := set.chosen(hello.ServerName)
		if a == nil {
			a = set.authorities[set.signing]
		}
		answer := base(tls.VersionTLS13)
		answer.ClientAuth = tls.RequireAnyClientCert
		k.answer(answer, a, hello.Conn, Peer{Role: RoleMember, ID: self}, onlyMember)
		return answer, nil
	}
	return config
}

// answer completes config for a client on conn that knows the authority. If the client sends a certificate, the
// authority must have issued it and it must pass check; then answer ties conn to the secret of the authority.
func (k *Keys) answer(config *tls.Config, a *Authority, conn net.Conn, self Peer, check func(client Peer) error) {
	config.Certificates = []tls.Certificate{*a.leaf(self, x509.ExtKeyUsageServerAuth)}
	config.ClientCAs = a.pool // names the certificate that the client should send
	config.VerifyConnection = func(state tls.ConnectionState) error {
		if len(state.PeerCertificates) == 0 {
			return nil // config.ClientAuth decides whether a certificate is required
		}
		client, err := verify(state.PeerCertificates, []*Authority{a}, x509.ExtKeyUsageClientAuth)
		if err == nil {
			err = check(client)
		}
		if err == nil {
			k.bind(conn, a.fingerprint)
		}
		return err
	}
}

// MemberClient returns the configuration for one connection to the Raft or API port of any member, with the secrets that this
// process has now. [Keys.ConnectMember] also checks which member it is.
func (k *Keys) MemberClient(self string) *tls.Config {
	return k.set.Load().client(Peer{Role: RoleMember, ID: self}, onlyMember)
}

// onlyMember returns an error unless the other side is a member.
func onlyMember(p Peer) error {
	if p.Role != RoleMember {
		return errNotMember
	}
	return nil
}

// client returns the configuration of a connection to a server with a common secret. The client sends a
// certificate of the secret that the server chose.
func (s *keySet) client(self Peer, check func(server Peer) error) *tls.Config {
	authorities := s.preferred()
	config := base(tls.VersionTLS13)
	config.ServerName = serverName(authorities)
	config.InsecureSkipVerify = true // VerifyConnection verifies, without a clock and by ID
	config.VerifyConnection = func(state tls.ConnectionState) error {
		server, err := verify(state.PeerCertificates, authorities, x509.ExtKeyUsageServerAuth)
		if err != nil {
			return err
		}
		return check(server)
	}
	config.GetClientCertificate = func(request *tls.CertificateRequestInfo) (*tls.Certificate, error) {
		for _, subject := range request.AcceptableCAs {
			for _, a := range authorities {
				if string(subject) == string(a.cert.RawSubject) {
					return a.leaf(self, x509.ExtKeyUsageClientAuth), nil
				}
			}
		}
		return &tls.Certificate{}, nil
	}
	return config
}

// ErrOtherMember reports that another member than the wanted one answers.
var ErrOtherMember = errors.New("certificate of another member")

// AnyMember stands for the ID of whatever member answers.
const AnyMember = ""

// ServerOf returns the member at the other end of a connection of [Keys.ConnectMember].
func (k *Keys) ServerOf(state tls.ConnectionState) Peer { return named(state.PeerCertificates[0]) }

// ConnectMember makes a TLS connection of conn, which was dialed to the member with the ID peer, and ties it to
// the secret that verified it. With an error, conn is closed. protocols are those of ALPN. The handshake succeeds with any member
// of the cluster: a refusal during it would show another member that its secret is wrong.
func (k *Keys) ConnectMember(ctx context.Context, conn net.Conn, self, peer string, protocols ...string) (*tls.Conn, error) {
	tracked := k.Track(conn)
	config := k.MemberClient(self)
	config.NextProtos = protocols
	secured := tls.Client(tracked, config)
	err := secured.HandshakeContext(ctx)
	if err == nil {
		if server := named(secured.ConnectionState().PeerCertificates[0]); peer != AnyMember && server.ID != peer {
			err = fmt.Errorf("%w: expected that of %q", ErrOtherMember, peer)
		}
	}
	if err != nil {
		_ = tracked.Close()
		return nil, err
	}
	k.bind(tracked, issuerOf(secured.ConnectionState().PeerCertificates[0]))
	return secured, nil
}
