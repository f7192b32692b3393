package trust

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"slices"
	"sync"
	"time"
)

// ServerTLS describes the ports of a process for clients.
type ServerTLS struct {
	Keys      *Keys            // nil if the process has no secret
	MemberID  string           // node ID; empty for a process that is not a member
	Hosts     []string         // names and addresses at which clients reach the process
	Now       func() time.Time // observed clock, which may jump; 1970 before there is a cluster; required with Keys
	Machine   func() time.Time // machine's clock, used while Now is far behind; nil if not used
	Own       *OwnCertificate  // used for clients that send no pin; may be nil
	Protocols []string         // ALPN, in order of preference
}

// Config returns the configuration of such a port. A client that sends pins gets a certificate of the first of
// these authorities that the process knows, and may prove that it is a member or an administrator. Any other
// client gets the operator's custom certificate if there is one, otherwise a certificate for the hosts, issued by
// the signing secret.
func (s ServerTLS) Config() *tls.Config {
	foreign := &hostLeaves{hosts: s.Hosts, observed: s.Now, machine: s.Machine}
	self := Peer{}
	if s.MemberID != "" {
		self = Peer{Role: RoleMember, ID: s.MemberID}
	}
	config := base(tls.VersionTLS12)
	config.NextProtos = s.Protocols
	config.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		answer := base(tls.VersionTLS12)
		answer.NextProtos = s.Protocols
		if s.Keys != nil {
			if a := s.Keys.set.Load().chosen(hello.ServerName); a != nil {
				answer.ClientAuth = tls.RequestClientCert
				s.Keys.answer(answer, a, hello.Conn, self, func(Peer) error { return nil })
				return answer, nil
			}
		}
		if s.Own != nil {
			answer.Certificates = []tls.Certificate{s.Own.now.Load().cert}
			return answer, nil
		}
		if s.Keys == nil {
			return nil, errors.New("no certificate: this process has neither a cluster secret nor its own certificate")
		}
		set := s.Keys.set.Load()
		a := set.authorities[set.signing]
		answer.Certificates = []tls.Certificate{*foreign.of(a)}
		return answer, nil
	}
	return config
}

// Authority returns the authority that issues the certificate of such a port for a client with a TLS server name; nil if
// none does, because the client gets the operator's custom certificate, or the process has no secret.
func (s ServerTLS) Authority(serverName string) *Authority {
	if s.Keys == nil {
		return nil
	}
	set := s.Keys.set.Load()
	if a := set.chosen(serverName); a != nil || s.Own != nil {
		return a
	}
	return set.authorities[set.signing]
}

// hostLeaves keeps the current certificate for clients that verify hosts and times.
type hostLeaves struct {
	hosts             []string
	observed, machine func() time.Time

	mu     sync.Mutex
	issuer *Authority       // issuer of leaf; guarded by mu
	leaf   *tls.Certificate // guarded by mu
}

// of returns the certificate of an authority. It makes a new one when half of the lifetime of the last one is
// over, and when the clock is outside of it.
func (h *hostLeaves) of(a *Authority) *tls.Certificate {
	now := h.now()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.leaf == nil || h.issuer != a || now.Before(h.leaf.Leaf.NotBefore) || now.After(h.leaf.Leaf.NotBefore.Add(hostLeafLife/2)) {
		h.issuer, h.leaf = a, a.hostLeaf(h.hosts, now)
	}
	return h.leaf
}

// now returns the observed clock, or the machine's clock if the observed clock is behind it by more than the
// lifetime of a certificate. A member that has not joined a cluster yet observes 1970, and must serve probes
// and clients with a CA too.
func (h *hostLeaves) now() time.Time {
	observed := h.observed()
	if h.machine == nil {
		return observed
	}
	if machine := h.machine(); machine.Sub(observed) > hostLeafLife {
		return machine
	}
	return observed
}

// AdminCertificate returns the certificate that makes a command line with the secret file an administrator. The
// signing secret issues it.
func (k *Keys) AdminCertificate() tls.Certificate {
	set := k.set.Load()
	return *set.authorities[set.signing].leaf(Peer{Role: RoleAdmin}, x509.ExtKeyUsageClientAuth)
}

// ClientTLS describes how a client trusts the members or gateways that it calls.
type ClientTLS struct {
	Token string // API token; its pin, if any, names the cluster
	CA    []byte // PEM, one or more certificates
	Keys  *Keys  // secrets of an administrator
}

// Config returns the configuration for one connection, or nil if nothing names a server to trust: then the
// client uses plain TCP.
//
// With secrets, the server must have one of them, and the client is an administrator. Otherwise, if CA has a
// certificate that is not the authority of a cluster secret, the client verifies the host name and the real
// time, and trusts all of CA. Otherwise the server must have one of the cluster secrets that CA and the token's
// pin name, and the client verifies neither host nor time.
func (c ClientTLS) Config() (*tls.Config, error) {
	if c.Keys != nil {
		return c.Keys.set.Load().client(Peer{Role: RoleAdmin}, func(Peer) error { return nil }), nil
	}
	certs, err := parseCertificates(c.CA)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(certs, func(cert *x509.Certificate) bool { return !isAuthority(cert) }) {
		config := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: x509.NewCertPool()}
		for _, cert := range certs {
			config.RootCAs.AddCert(cert)
		}
		return config, nil
	}
	var pins []string
	for _, cert := range certs {
		pins = append(pins, pinOf(cert))
	}
	if c.Token != "" {
		token, err := ParseToken(c.Token)
		if err != nil {
			return nil, err
		}
		if token.Pin != "" {
			pins = append(pins, token.Pin)
		}
	}
	if len(pins) == 0 {
		return nil, nil
	}
	return pinned(pins), nil
}
