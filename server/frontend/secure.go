package frontend

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"

	"github.com/snowraft/snowraft/server/conn"
	"github.com/snowraft/snowraft/server/web"
	"github.com/snowraft/snowraft/server/wire"
	"github.com/snowraft/snowraft/trust"
)

// secured wraps a port with TLS, unless clients may connect without TLS. The API port uses a handshaker instead, because
// members always use TLS.
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

// byToken returns the function that authenticates Redis clients; nil in an open cluster.
func (s *Server) byToken() func(ctx context.Context, token string) (*trust.Principal, error) {
	if s.auth == nil {
		return nil
	}
	return s.loggedIn
}

// byRequest returns the function that authenticates HTTP requests; nil in an open cluster.
func (s *Server) byRequest() func(r *http.Request, token string) (*trust.Principal, error) {
	if s.auth == nil {
		return nil
	}
	return func(r *http.Request, token string) (p *trust.Principal, err error) {
		if token == "" || r.Header["Authorization"] != nil {
			p, err = s.auth.Request(r)
		} else {
			p, err = s.auth.Caller(r, token)
		}
		if err != nil {
			return p, wire.Status(err)
		}
		c := conn.From(r.Context())
		c.BeginOnly()
		c.Forget()
		if !p.IsAnonymous() {
			err = c.Keep(p)
			s.connected(c, p, r)
		}
		return p, wire.Status(err)
	}
}

// readsMetrics passes on requests whose callers may read metrics. A caller that may also read every sequence gets the metrics
// with names of sequences.
func (s *Server) readsMetrics(plain, named http.Handler) http.Handler {
	authenticate := s.byRequest()
	if authenticate == nil {
		return named
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p, err := authenticate(r, "")
		if err == nil {
			err = p.Authorize(trust.RightReadMetrics, "")
		}
		if err != nil {
			web.Refuse(w, wire.Status(err))
			return
		}
		if p.Authorize(trust.RightReadSequence, "*") == nil {
			named.ServeHTTP(w, r)
			return
		}
		plain.ServeHTTP(w, r)
	})
}

// tracked tracks the requests of HTTP connections, and what is read of their bodies. In an open cluster, where every caller is
// authorized, it also begins them; in a secured cluster byRequest does.
func (s *Server) tracked(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := conn.From(r.Context())
		defer c.EndOnly()
		if s.auth == nil {
			c.BeginOnly()
			_ = c.Keep(trust.Open()) // has no share
		}
		if r.ContentLength != 0 {
			body := &chargedBody{ReadCloser: r.Body, conn: c}
			r.Body = body
			defer func() { c.Charge(-body.held) }()
		}
		next.ServeHTTP(w, r)
	})
}

// chargedBody counts what is read of the request's body.
type chargedBody struct {
	io.ReadCloser
	conn *conn.Conn
	held int64
}

func (b *chargedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.held += int64(n)
	b.conn.Charge(int64(n))
	return n, err
}
