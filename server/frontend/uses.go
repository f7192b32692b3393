package frontend

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/snowraft/snowraft/internal/lines"
	"github.com/snowraft/snowraft/server/conn"
	"github.com/snowraft/snowraft/server/kernel"
	"github.com/snowraft/snowraft/trust"
)

var descAsking = kernel.Desc("secret_clients_open", "Open connections of gRPC and HTTP whose clients verify this member only by the pin of the secret with a fingerprint.", "fingerprint")

// noting is a Tokens that notes refused tokens in uses and in the log.
type noting struct {
	Tokens
	uses *trust.Uses
	log  *slog.Logger
	few  lines.Limit
}

// noting returns a copy of a that notes refused tokens; a nil a is that of an open cluster.
func (a *Auth) noting(log *slog.Logger) *Auth {
	if a == nil {
		return &Auth{Tokens: trust.Everyone{}}
	}
	uses := cmp.Or(a.Uses, new(trust.Uses))
	return &Auth{Tokens: &noting{Tokens: a.Tokens, uses: uses, log: log}, Keys: a.Keys, Uses: uses}
}

// Authenticate implements Tokens.
func (n *noting) Authenticate(ctx context.Context, text string) (*trust.Principal, error) {
	p, err := n.Tokens.Authenticate(ctx, text)
	if denied, ok := errors.AsType[*trust.Denied](err); ok {
		use, fresh := n.uses.Refused(Address(ctx), trust.TokenID(text), denied.Fault, time.Now())
		if fresh && n.few.Allow() {
			n.log.Warn("token refused; see \"snowraft token list --use\"", "token", use.Token, "fault", use.Fault, "address", use.Host, "requests", use.Count)
		}
	}
	return p, err
}

// keep keeps the slot of a call's connection, and notes its caller p. The slot belongs to the member or administrator at
// the other end, if the connection has one, because a member forwards the calls of many callers.
func (s *Server) keep(ctx context.Context, p *trust.Principal) error {
	c := connOf(ctx)
	if c == nil || c.Known() {
		return nil
	}
	peer := connectionOf(ctx)
	p = cmp.Or(peer.principal, p)
	if err := c.Keep(p); err != nil {
		return err
	}
	if id := p.TokenID(); id != 0 {
		c.Use(s.auth.Uses.Connected(Address(ctx), id, peer.asked, time.Now()))
	}
	return nil
}

// connected notes the caller of an HTTP connection at its first request.
func (s *Server) connected(c *conn.Conn, p *trust.Principal, r *http.Request) {
	if c == nil || p.TokenID() == 0 || c.Used() {
		return
	}
	c.Use(s.auth.Uses.Connected(r.RemoteAddr, p.TokenID(), s.auth.asked(r.TLS), time.Now()))
}

// loggedIn notes the caller of a Redis connection.
func (s *Server) loggedIn(ctx context.Context, text string) (*trust.Principal, error) {
	p, err := s.auth.Tokens.Authenticate(ctx, text)
	if err == nil && p.TokenID() != 0 {
		now := time.Now()
		s.auth.Uses.Connected(Address(ctx), p.TokenID(), "", now)(now)
	}
	return p, err
}

// secretClients sends the metric of clients by the secret that they need.
func (a *Auth) secretClients(ch chan<- prometheus.Metric) {
	if a.Keys == nil {
		return
	}
	open := make(map[string]int)
	for _, use := range a.Uses.List() {
		open[use.Secret] += use.Open
	}
	for _, fingerprint := range a.Keys.Fingerprints() {
		ch <- prometheus.MustNewConstMetric(descAsking, prometheus.GaugeValue, float64(open[fingerprint]), fingerprint)
	}
}
