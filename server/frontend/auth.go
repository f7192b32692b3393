package frontend

import (
	"context"
	"crypto/tls"
	"net/http"
	"strings"

	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	"github.com/snowraft/snowraft/internal/rpc"
	"github.com/snowraft/snowraft/trust"
)

// Auth authenticates the callers of a secured process. The nil Auth belongs to an open cluster, where each caller is
// [trust.Open].
type Auth struct {
	Tokens Tokens
	Keys   *trust.Keys // nil in a gateway, which accepts no certificates of members or administrators
	Uses   *trust.Uses // nil: those of this process only
}

// Tokens authenticates tokens. [trust.Authorizer] and [trust.Remote] implement it. Its methods may be called from any
// goroutine.
type Tokens interface {
	// Authenticate returns the principal of a token's text. The principal of an empty text is anonymous.
	Authenticate(ctx context.Context, text string) (*trust.Principal, error)
	// Forwarded returns the original caller of a call that another member forwards.
	Forwarded(ctx context.Context, as string) (*trust.Principal, error)
}

// Caller returns the principal of an HTTP request that carries a token, which may be empty. The certificate of a member or
// an administrator takes precedence over the token. The errors are those of [Tokens].
func (a *Auth) Caller(r *http.Request, token string) (*trust.Principal, error) {
	if a == nil {
		return trust.Open(), nil
	}
	if p := principalOf(a.peer(r.TLS)); p != nil {
		return p, nil
	}
	return a.Tokens.Authenticate(trust.WithAddress(r.Context(), r.RemoteAddr), token)
}

// Request returns the principal of an HTTP request, based on its Authorization header and its certificate.
func (a *Auth) Request(r *http.Request) (*trust.Principal, error) {
	if a == nil {
		return trust.Open(), nil
	}
	token, err := bearer(r.Header["Authorization"])
	if err != nil {
		return nil, err
	}
	return a.Caller(r, token)
}

// peer verifies the certificate of a connection and returns the peer that the certificate names.
func (a *Auth) peer(state *tls.ConnectionState) trust.Peer {
	if a == nil || a.Keys == nil || state == nil || len(state.PeerCertificates) == 0 {
		return trust.Peer{}
	}
	return a.Keys.PeerOf(*state)
}

// principalOf returns the principal of a certificate; nil if the certificate belongs to neither a member nor an
// administrator.
func principalOf(peer trust.Peer) *trust.Principal {
	switch peer.Role {
	case trust.RoleMember:
		return trust.Member(peer.ID)
	case trust.RoleAdmin:
		return trust.Admin()
	default:
		return nil
	}
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

// authenticate returns the context of a gRPC call, with its principal.
func (s *Server) authenticate(ctx context.Context) (context.Context, error) {
	if fromHTTP(ctx) {
		return ctx, nil // the HTTP port has authenticated the caller
	}
	conn := connectionOf(ctx)
	p, err := conn.principal, error(nil)
	switch {
	case p.IsMember():
		if len(metadata.ValueFromIncomingContext(ctx, rpc.ForwardedBy)) > 0 {
			ctx = trust.WithRelay(ctx, p.MemberID())
		}
		if as := metadata.ValueFromIncomingContext(ctx, rpc.ForwardedFor); len(as) > 0 {
			p, err = s.auth.Tokens.Forwarded(ctx, as[0])
		}
	case p == nil:
		var token string
		if token, err = bearer(metadata.ValueFromIncomingContext(ctx, "authorization")); err == nil {
			p, err = s.auth.Tokens.Authenticate(ctx, token)
		}
	}
	if err != nil {
		return ctx, err
	}
	return trust.WithPrincipal(ctx, p), nil
}

// admit returns the context of a gRPC call, with its principal and admission, or an error if the caller lacks the right of the
// method's rule. Reflection, which has no rule, needs any valid token. A stream has no request yet: each of its messages is
// admitted separately.
func (s *Server) admit(ctx context.Context, rule *rpc.Rule, method string, req any) (context.Context, error) {
	if isHealth(method) {
		return ctx, nil
	}
	if s.auth == nil {
		return ctx, connOf(ctx).Keep(trust.Open())
	}
	ctx, err := s.authenticate(ctx)
	if err == nil && !trust.PrincipalOf(ctx).IsAnonymous() {
		err = s.speak(ctx)
	}
	switch {
	case err != nil:
	case rule == nil: // reflection
		err = trust.PrincipalOf(ctx).Authorize(trust.RightAny, "")
	case req != nil:
		a, err := s.kernel.AdmitCall(ctx, rule, req)
		if err != nil {
			return ctx, err
		}
		return trust.WithAdmission(ctx, a), nil
	}
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

// relayed reports whether another member forwarded the call.
func (a *Auth) relayed(ctx context.Context) bool {
	if a == nil {
		return len(metadata.ValueFromIncomingContext(ctx, rpc.ForwardedBy)) > 0
	}
	return trust.RelayOf(ctx) != ""
}
