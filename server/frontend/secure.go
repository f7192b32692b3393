package frontend

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"

	"github.com/snowraft/snowraft/internal/places"
	"github.com/snowraft/snowraft/server/web"
	"github.com/snowraft/snowraft/server/wire"
	"github.com/snowraft/snowraft/trust"
)

// secured returns a port as clients speak to it: with TLS, unless they may do without. The API port does so by its
// handshaker, since members always speak TLS.
func (s *Server) secured(l net.Listener, protocols ...string) net.Listener {
	if s.tls == nil || s.plain {
		return l
	}
	if s.auth != nil && s.auth.Keys != nil {
		l = s.auth.Keys.Listener(l)
	}
	return tls.NewListener(l, s.tls(protocols...))
}

// apiTLS returns the configuration of the API port; nil for plain text.
func (s *Server) apiTLS() *tls.Config {
	if s.tls == nil {
		return nil
	}
	return s.tls("h2")
}

// byToken returns how Redis clients become principals; nil in an open cluster.
func (s *Server) byToken() func(ctx context.Context, token string) (*trust.Principal, error) {
	if s.auth == nil {
		return nil
	}
	return s.auth.Tokens.Authenticate
}

// byRequest returns how HTTP requests become principals; nil in an open cluster.
func (s *Server) byRequest() func(r *http.Request, token string) (*trust.Principal, error) {
	if s.auth == nil {
		return nil
	}
	return func(r *http.Request, token string) (p *trust.Principal, err error) {
		if token == "" || r.Header["Authorization"] != nil {
			p, err = s.auth.Request(r)
		} else {
			p, err = s.auth.Caller(r.Context(), r.TLS, token)
		}
		if err == nil && !p.IsAnonymous() {
			keepPlace(r.Context())
		}
		return p, wire.Status(err)
	}
}

type placeKey struct{}

// withPlace lets the requests of a connection find its place.
func withPlace(ctx context.Context, c net.Conn) context.Context {
	if secured, ok := c.(*tls.Conn); ok {
		c = secured.NetConn()
	}
	if tracked, ok := c.(*trust.Conn); ok {
		c = tracked.Conn
	}
	if placed, ok := c.(*places.Conn); ok {
		return context.WithValue(ctx, placeKey{}, placed.Place)
	}
	return ctx
}

// keepPlace keeps the place of a request's connection, as its caller has shown that it may be here.
func keepPlace(ctx context.Context) {
	if place, ok := ctx.Value(placeKey{}).(*places.Place); ok {
		place.Spoke()
	}
}

// spoken keeps the places of connections with requests, where every caller may be here.
func (s *Server) spoken(next http.Handler) http.Handler {
	if s.auth != nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		keepPlace(r.Context())
		next.ServeHTTP(w, r)
	})
}

// readsMetrics lets requests pass whose callers may read metrics.
func (s *Server) readsMetrics(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p, err := s.auth.Request(r)
		if err == nil {
			err = p.Authorize(trust.RightReadMetrics, "")
		}
		if err != nil {
			web.Refuse(w, wire.Status(err))
			return
		}
		next.ServeHTTP(w, r)
	})
}
