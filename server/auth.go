package server

import (
	"crypto/tls"
	"time"

	"github.com/snowraft/snowraft/server/frontend"
	"github.com/snowraft/snowraft/trust"
)

// auth returns the authentication of callers and the tokens that authentication reads; both are nil in an open cluster. Neither
// is used before the member is open.
func (s *Server) auth() (*frontend.Auth, *tokenTable) {
	if s.cfg.Keys == nil {
		return nil, nil
	}
	tokens := &tokenTable{server: s}
	authorizer := trust.NewAuthorizer(tokens)
	authorizer.Address = frontend.Address
	return &frontend.Auth{Tokens: authorizer, Keys: s.cfg.Keys, Uses: new(trust.Uses)}, tokens
}

// tls returns a function that makes the TLS configuration of a client port with given protocols; nil in an open cluster.
func (s *Server) tls() func(protocols ...string) *tls.Config {
	if s.cfg.Keys == nil {
		return nil
	}
	return func(protocols ...string) *tls.Config { return s.serverTLS(protocols).Config() }
}

func (s *Server) serverTLS(protocols []string) trust.ServerTLS {
	return trust.ServerTLS{
		Keys: s.cfg.Keys, MemberID: s.MemberID(), Hosts: append([]string{s.ports.Host}, s.cfg.TLSHosts...), Own: s.cfg.OwnCertificate,
		Now:       func() time.Time { return time.UnixMilli(s.member.State().Observed().Load()) },
		Machine:   func() time.Time { return time.UnixMilli(s.cfg.Clock().Wall) },
		Protocols: protocols,
	}
}

// pin returns the last part of a new token, by which clients verify the cluster; empty in an open cluster.
func (s *Server) pin() string {
	if s.cfg.Keys == nil {
		return ""
	}
	return s.cfg.Keys.Signing().Authority().Pin()
}
