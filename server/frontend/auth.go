package frontend

import (
	"context"
	"crypto/tls"
	"net/http"
	"strings"
	"time"

	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	"github.com/snowraft/snowraft/internal/rpc"
	"github.com/snowraft/snowraft/trust"
)

// Auth authenticates callers.
type Auth struct {
	Tokens Tokens
	Keys   *trust.Keys // nil in an open cluster and in a gateway, which accept no certificates of members or administrators
	Uses   *trust.Uses // nil: those of this process only
}

// open reports whether each caller is [trust.Open].
func (a *Auth) open() bool { return a.Tokens == Tokens(trust.Everyone{}) }

// Tokens authenticates tokens. [trust.Authorizer], [trust.Remote] and [trust.Everyone] implement it. Its methods may be called
// from any goroutine.
type Tokens interface {
	// Authenticate returns the principal of a token's text. The principal of an empty text is anonymous.
	Authenticate(ctx context.Context, text string) (*trust.Principal, error)
	// Forwarded returns the original caller of a call that another member forwards.
	Forwarded(ctx context.Context, as string) (*trust.Principal, error)
}

// Caller returns the principal of an HTTP request, by its certificate, its Authorization header or a token that it has elsewhere,
// in this order. The errors are those of [Tokens].
func (a *Auth) Caller(r *http.Request, token string) (p *trust.Principal, err error) {
	if p = a.certified(r.TLS); p != nil {
		return p, nil
	}
	if header := r.Header["Authorization"]; header != nil {
		if token, err = bearer(header); err != nil {
			return nil, err
		}
	}
	return a.Tokens.Authenticate(trust.WithAddress(r.Context(), r.RemoteAddr), token)
}

// certified returns the caller of a connection that needs no token: everyone in an open cluster, else a member or an administrator
// with a certificate; nil for other callers.
func (a *Auth) certified(state *tls.ConnectionState) *trust.Principal {
	if a.open() {
		return trust.Open()
	}
	if a.Keys == nil || state == nil || len(state.PeerCertificates) == 0 {
		return nil
	}
	switch peer := a.Keys.PeerOf(*state); peer.Role {
	case trust.RoleMember:
		return trust.Member(peer.ID)
	case trust.RoleAdmin:
		return trust.Admin()
	default:
		return nil
	}
}

// asked returns the fingerprint of the secret that the client of a TLS connection needs; empty for a client without a pin, or with
// several.
func (a *Auth) asked(state *tls.ConnectionState) string {
	if a.Keys == nil || state == nil {
		return ""
	}
	return a.Keys.AskedFor(state.ServerName)
}

// bearer returns the token of an authorization header; empty without a header.
func bearer(values []string) (token string, err error) {
	switch len(values) {
	case 0:
		return "", nil
	case 1:
		const scheme = "bearer "
		if v := values[0]; len(v) > len(scheme) && strings.EqualFold(v[:len(scheme)], scheme) {
			return v[len(scheme):], nil
		}
	}
	return "", &trust.Denied{Unauthenticated: true, Fault: trust.FaultMalformed, Detail: `authorization: expected one header "Bearer TOKEN"`}
}

// authenticate returns the caller of a gRPC call, and the context of the call, which names the member that forwards it. A member
// makes a call of its own if it names no other caller.
func (s *Server) authenticate(ctx context.Context) (context.Context, *trust.Principal, error) {
	if fromHTTP(ctx) {
		return ctx, trust.PrincipalOf(ctx), nil // the HTTP port has authenticated the caller
	}
	p := connectionOf(ctx).principal
	if p == nil {
		token, err := bearer(metadata.ValueFromIncomingContext(ctx, "authorization"))
		if err == nil {
			p, err = s.auth.Tokens.Authenticate(ctx, token)
		}
		return ctx, p, err
	}
	if !p.IsMember() && !p.IsOpen() {
		return ctx, p, nil
	}
	if by := metadata.ValueFromIncomingContext(ctx, rpc.ForwardedBy); len(by) > 0 && by[0] != "" {
		if p.IsOpen() { // nothing proves the name
			p = trust.ClaimedMember(by[0])
		}
		ctx = trust.WithRelay(ctx, p.MemberID())
	}
	if as := metadata.ValueFromIncomingContext(ctx, rpc.ForwardedFor); p.IsMember() && len(as) > 0 {
		p, err := s.auth.Tokens.Forwarded(ctx, as[0])
		return ctx, p, err
	}
	return ctx, p, nil
}

// admit returns the context of a gRPC call, with its principal and admission, or an error if the caller lacks the right of the
// method's rule. Reflection, which has no rule, needs any valid token. A stream has no request yet: each of its messages is
// admitted separately.
func (s *Server) admit(ctx context.Context, rule *rpc.Rule, method string, req any) (context.Context, error) {
	if isHealth(method) {
		return ctx, nil
	}
	ctx, p, err := s.authenticate(ctx)
	if err == nil && !p.IsAnonymous() {
		err = s.keep(ctx, p)
	}
	switch {
	case err != nil:
	case rule == nil: // reflection
		err = p.Authorize(trust.RightAny, "")
	case req != nil:
		a, err := s.kernel.AdmitCall(ctx, p, rule, req)
		if err != nil {
			return trust.WithPrincipal(ctx, p), err
		}
		return trust.WithAdmission(ctx, a), nil
	}
	ctx = trust.WithPrincipal(ctx, p)
	if err != nil {
		s.kernel.AuditRefusal(ctx, rule, req, err)
	}
	return ctx, err
}

// Address returns the address of a call's caller, or of the member that forwards the call.
func Address(ctx context.Context) string {
	if a := trust.AddressOf(ctx); a != "" {
		return a
	}
	if p, ok := peer.FromContext(ctx); ok {
		return p.Addr.String()
	}
	return ""
}

// greeting bounds the time for authenticating a caller of the health protocol.
const greeting = time.Second

// isHealth reports whether a method belongs to the health protocol, which needs no token.
func isHealth(method string) bool { return strings.HasPrefix(method, "/grpc.health.v1.Health/") }

// greet keeps the connection of a caller that watches the health with a token or a certificate. An invalid one is ignored.
func (s *Server) greet(ctx context.Context) {
	c := connOf(ctx)
	if s.auth.open() || c == nil || c.Known() ||
		connectionOf(ctx).principal == nil && len(metadata.ValueFromIncomingContext(ctx, "authorization")) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, greeting)
	defer cancel()
	if ctx, p, err := s.authenticate(ctx); err == nil && !p.IsAnonymous() {
		_ = s.keep(ctx, p) // otherwise the caller watches as a stranger
	}
}
