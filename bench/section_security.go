package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/snowraft/snowraft/client"
	"github.com/snowraft/snowraft/internal/load"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/trust"
)

// security compares an open member with secured members: it measures the cost of a token, of TLS, and of both.
func security() section {
	const (
		clients = 64
		open    = "`GenerateIds` on an open member"
		plain   = "`GenerateIds` in clear text, with a token"
		tls     = "`GenerateIds` over TLS, with the certificate of an administrator"
		both    = "`GenerateIds` over TLS, with a token"
		incr    = "`INCR` on an open member"
		sealed  = "`INCR` over TLS, with a token"
		first   = "first ID of a new client, over TLS with a token"
	)
	return section{name: "security", title: "Tokens and TLS", measure: func(ctx context.Context, e *env) (t *table, err error) {
		var started closers
		defer started.close(&err)
		bare, err := e.startCluster(ctx, 1, &started)
		if err != nil {
			return nil, err
		}
		secured, err := e.startSecured(ctx, &started)
		if err != nil {
			return nil, err
		}
		meshed, err := e.startSecured(ctx, &started, "--client-tls=false")
		if err != nil {
			return nil, err
		}
		for _, m := range []*guarded{{member: bare[0]}, secured, meshed} {
			if err := m.sequences(ctx); err != nil {
				return nil, err
			}
		}
		c := comparison{
			heading: "64 callers, each with one call at a time",
			columns: []column{
				{"calls per second", calls, false, amount}, {"rate relative to the open member", calls, true, ratio},
				{"p50", p50, false, nanoseconds}, {"p99", p99, false, nanoseconds}, {"longest call in a round", longest, false, nanoseconds},
			},
			targets: []target{
				{text: "with a token, at least 0.98 times the rate of the open member", of: plain, figure: calls, ratio: true, atLeast: 0.98, format: ratio},
				{text: "over TLS, at least 0.94 times the rate of the open member", of: tls, figure: calls, ratio: true, atLeast: 0.94, format: ratio},
				{text: "a p99 under 10 ms for the first ID over TLS", of: first, figure: p99, atMost: 10e6, format: nanoseconds},
			},
		}
		ids := func(m *guarded, a load.Access) ([]load.Caller, error) {
			return oneByOneWith(m.api, clients, &started, a)
		}
		redis := func(m *guarded, a load.Access) ([]load.Caller, error) {
			return redisLinks(ctx, clients, m.redis, relaxedName, a, &started)
		}
		for _, of := range []struct {
			name, against string
			open          func(*guarded, load.Access) ([]load.Caller, error)
			m             *guarded
			a             load.Access
		}{
			{open, "", ids, &guarded{member: bare[0]}, load.Access{}}, {plain, open, ids, meshed, meshed.byToken(false)},
			{tls, open, ids, secured, secured.admin}, {both, open, ids, secured, secured.byToken(true)},
			{incr, "", redis, &guarded{member: bare[0]}, load.Access{}}, {sealed, incr, redis, secured, secured.byToken(true)},
		} {
			callers, err := of.open(of.m, of.a)
			if err != nil {
				return nil, err
			}
			c.contenders = append(c.contenders, contender{name: of.name, against: of.against, turn: loadTurn(callers)})
		}
		c.contenders = append(c.contenders, contender{name: first, turn: clientTurn([]string{secured.api}, client.WithToken(secured.text))})
		return c.measure(ctx, e)
	}}
}

// relaxedName is the name of the sequence for the Redis clients of security.
const relaxedName = "bench"

// guarded is a member with a secret, and the credentials for it. A guarded with only the member set is an open member.
type guarded struct {
	*member
	admin load.Access
	text  string // text of a token for IDs and numbers
}

// byToken returns the access of an application.
func (g *guarded) byToken(overTLS bool) load.Access {
	a := load.Access{Token: g.text}
	if overTLS {
		a.TLS = g.admin.TLS.Clone()
		a.TLS.GetClientCertificate = nil
	}
	return a
}

// startSecured starts a cluster of one member with a secret, and creates a token.
func (e *env) startSecured(ctx context.Context, started *closers, flags ...string) (*guarded, error) {
	dir, err := e.temp("secret")
	if err != nil {
		return nil, err
	}
	secret := trust.NewSecret()
	path := filepath.Join(dir, "secret")
	if err := os.WriteFile(path, []byte(secret.Line()+"\n"), 0o600); err != nil {
		return nil, err
	}
	keys, err := trust.NewKeys(secret)
	if err != nil {
		return nil, err
	}
	g := &guarded{}
	if g.admin.TLS, err = (trust.ClientTLS{Keys: keys}).Config(); err != nil {
		return nil, err
	}
	if g.member, err = e.newMember(ctx, "secured", nil); err != nil {
		return nil, err
	}
	g.args = append(append(g.args, "--bootstrap-expect", "1", "--secret-file", path), flags...)
	if err := g.launch(e, started); err != nil {
		return nil, err
	}
	return g, g.await(ctx, g.token)
}

// token creates the token. It succeeds once the cluster has a leader.
func (g *guarded) token(ctx context.Context) error {
	conn, err := load.Dial(g.api, g.admin)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	resp, err := snowraftv1.NewTokenServiceClient(conn).CreateToken(ctx, &snowraftv1.CreateTokenRequest{
		Token: &snowraftv1.Token{Name: "bench", Scopes: []string{"ids:issue:*", "seq:next:*"}},
	})
	g.text = resp.GetText()
	return errors.Join(err, conn.Close())
}

// sequences creates the sequence for the Redis clients.
func (g *guarded) sequences(ctx context.Context) error {
	conn, err := load.Dial(g.api, g.admin)
	if err != nil {
		return err
	}
	_, err = snowraftv1.NewSequenceServiceClient(conn).CreateSequence(ctx, &snowraftv1.CreateSequenceRequest{
		Sequence: &snowraftv1.Sequence{Name: relaxedName, Mode: snowraftv1.SequenceMode_SEQUENCE_MODE_RELAXED},
	})
	return errors.Join(err, conn.Close())
}
