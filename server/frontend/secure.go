package frontend

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"

	"github.com/snowraft/snowraft/server/conn"
	"github.com/snowraft/snowraft/server/web"
	"github.com/snowraft/snowraft/server/wire"
	"github.com/snowraft/snowraft/trust"
)

// speaksTLS reports whether a port accepts clients over TLS only. A Unix socket needs none, because its bytes do not leave the host.
func (s *Server) speaksTLS(l net.Listener) bool {
	return s.behind.TLS != nil && !s.behind.Plain && l.Addr().Network() != "unix"
}

// secured wraps a port with TLS, unless clients may connect without TLS. The API port uses a handshaker instead, because
// members always use TLS.
func (s *Server) secured(l net.Listener, protocols ...string) net.Listener {
	if !s.speaksTLS(l) {
		return l
	}
	if s.auth.Keys != nil {
		l = s.auth.Keys.Listener(l)
	}
	return tls.NewListener(l, s.behind.TLS(protocols...))
}

// apiTLS returns the configuration of the API port; nil for plain text.
func (s *Server) apiTLS() *tls.Config {
	if s.behind.TLS == nil {
		return nil
	}
	return s.behind.TLS("h2")
}

// byRequest authenticates an HTTP request, whose token may also be in a parameter.
func (s *Server) byRequest(r *http.Request, token string) (*trust.Principal, error) {
	p, err := s.auth.Caller(r, token)
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

// readsMetrics passes on requests whose callers may read metrics. A caller that may also read every sequence gets the metrics
// with names of sequences.
func (s *Server) readsMetrics(plain, named http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p, err := s.byRequest(r, "")
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

// tracked tracks the requests of HTTP connections, and what is read of their bodies. byRequest begins them.
func (s *Server) tracked(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := conn.From(r.Context())
		defer c.EndOnly()
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
