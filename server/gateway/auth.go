package gateway

import (
	"context"
	"crypto/tls"

	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server/frontend"
	"github.com/snowraft/snowraft/trust"
)

// auth returns the authentication of callers; nil in front of an open cluster.
func (g *Gateway) auth(m *members) *frontend.Auth {
	if g.cfg.Token == "" {
		return nil
	}
	remote := trust.NewRemote(m.verify)
	remote.Address = frontend.Address
	return &frontend.Auth{Tokens: remote}
}

// tls returns a function that makes the TLS configuration of a port with given protocols; nil if the gateway has no certificate.
func (g *Gateway) tls() func(protocols ...string) *tls.Config {
	if g.cfg.OwnCertificate == nil {
		return nil
	}
	return func(protocols ...string) *tls.Config {
		return trust.ServerTLS{Own: g.cfg.OwnCertificate, Protocols: protocols}.Config()
	}
}

// verify requests the record of a caller's token from a member, with this gateway's own token. The record is nil if the token
// is not valid.
func (m *members) verify(ctx context.Context, text string) (*trust.Record, error) {
	resp := new(snowraftv1.VerifyTokenResponse)
	err := m.conn.Invoke(ctx, snowraftv1.TokenService_VerifyToken_FullMethodName, &snowraftv1.VerifyTokenRequest{Text: text}, resp)
	if err != nil {
		switch e := rpc.FromError(err); e.Reason {
		case rpc.Unauthenticated, rpc.PermissionDenied:
			return nil, rpc.NewError(rpc.Internal, "the gateway's own token was refused: "+e.Message)
		case rpc.ClusterOpen:
			return nil, rpc.NewError(rpc.ClusterOpen, "the gateway has a token, and the cluster is open: its members do not check tokens; start them with --secret-file, or the gateway without --token")
		default:
			return nil, reasoned(err)
		}
	}
	t := resp.GetToken()
	if t == nil {
		return nil, nil
	}
	scopes := make([]trust.Scope, len(t.GetScopes()))
	for i, s := range t.GetScopes() {
		scopes[i] = trust.Scope(s)
	}
	return &trust.Record{ID: t.GetId(), Name: t.GetName(), Scopes: scopes, ExpiresAtMillis: t.GetExpiresAtMs(), Rate: t.GetRate(), Burst: t.GetBurst()}, nil
}
