package trust

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"
)

var (
	errNoCertificate = errors.New("no certificate: the peer has no cluster secret")
	errNotMember     = errors.New("certificate not of a member")
)

// UnknownIssuerError reports a certificate that no secret of this process issued.
type UnknownIssuerError struct {
	Fingerprint string // secret that the peer presents; empty if no cluster secret issued its certificate
}

// Error returns the reason.
func (e *UnknownIssuerError) Error() string {
	if e.Fingerprint == "" {
		return "certificate not issued by a cluster secret"
	}
	return fmt.Sprintf("certificate issued by another cluster secret (%s)", e.Fingerprint)
}

// Refused reports whether err is a refusal by the TLS of the other side. The dialer of a TLS 1.3 connection
// gets it from its first read, after its own handshake succeeded.
func Refused(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "remote error"
}

// verify returns the peer whose certificate one of the authorities issued for a use. It never looks at the clock.
func verify(chain []*x509.Certificate, authorities []*Authority, usage x509.ExtKeyUsage) (Peer, error) {
	if len(chain) == 0 {
		return Peer{}, errNoCertificate
	}
	var reason error
	for _, a := range authorities {
		if string(chain[0].RawIssuer) != string(a.cert.RawSubject) {
			continue
		}
		if reason = issued(chain[0], a.pool, usage); reason != nil {
			continue
		}
		peer := named(chain[0])
		peer.Fingerprint = a.fingerprint
		return peer, nil
	}
	if reason != nil {
		return Peer{}, reason
	}
	return Peer{}, &UnknownIssuerError{Fingerprint: issuerOf(chain[0])}
}

// issuerOf returns the fingerprint of the secret that a leaf names as its issuer; empty if it names none.
func issuerOf(leaf *x509.Certificate) string {
	fingerprint, found := strings.CutPrefix(leaf.Issuer.CommonName, authorityName)
	if !found || len(fingerprint) != 16 || strings.Trim(fingerprint, "0123456789abcdef") != "" {
		return ""
	}
	return fingerprint
}

// issued returns an error unless an authority in the pool issued the leaf for a use.
func issued(leaf *x509.Certificate, pool *x509.CertPool, usage x509.ExtKeyUsage) error {
	_, err := leaf.Verify(x509.VerifyOptions{
		Roots:       pool,
		CurrentTime: judgedAt(leaf),
		KeyUsages:   []x509.ExtKeyUsage{usage},
	})
	return err
}

// judgedAt returns the time at which a leaf is verified: a time at which it is valid, whatever the present time
// is.
func judgedAt(leaf *x509.Certificate) time.Time {
	if leaf.NotBefore.After(judged) || leaf.NotAfter.Before(judged) {
		return leaf.NotBefore
	}
	return judged
}

// PeerOf returns the client of a connection that this process serves, verified with the present secrets. The
// role is RoleNone if the client sent no certificate, or one that no longer verifies.
func (k *Keys) PeerOf(state tls.ConnectionState) Peer {
	peer, err := verify(state.PeerCertificates, k.set.Load().authorities, x509.ExtKeyUsageClientAuth)
	if err != nil {
		return Peer{}
	}
	return peer
}

// base returns the common part of all configurations. Without session tickets, every connection proves itself,
// and no session outlives a secret.
func base(version uint16) *tls.Config {
	return &tls.Config{
		MinVersion:             version,
		Time:                   func() time.Time { return judged },
		SessionTicketsDisabled: true,
	}
}

// Claimed returns the ID of the member that serves a connection, from a certificate that is not verified: a
// hint for a caller that lacks the secret. The ID is empty for servers that are not members.
func Claimed(ctx context.Context, conn net.Conn) (id string, err error) {
	config := base(tls.VersionTLS13)
	config.InsecureSkipVerify = true // Claimed does not verify
	secured := tls.Client(conn, config)
	if err := secured.HandshakeContext(ctx); err != nil {
		return "", err
	}
	peer := named(secured.ConnectionState().PeerCertificates[0])
	if peer.Role != RoleMember {
		return "", nil
	}
	return peer.ID, nil
}
