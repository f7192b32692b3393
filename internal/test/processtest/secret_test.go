//go:build process || browser || prometheus || redisclients || examples || databases || foreign

package processtest

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc/credentials"

	"github.com/snowraft/snowraft/client"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/trust"
)

// secretFile creates a secret and returns the flags of the members that share it.
func secretFile(t *testing.T) (flags []string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(path, []byte(trust.NewSecret().Line()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return []string{"--secret-file", path}
}

// adminCredentials are the credentials of a test for a member: an admin's if the member has a secret file at the time of the
// connection.
type adminCredentials struct {
	credentials.TransportCredentials // credentials without a secret
	m                                *member
}

func (a adminCredentials) ClientHandshake(ctx context.Context, authority string, raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	path := a.m.secret.Load()
	if path == nil {
		return a.TransportCredentials.ClientHandshake(ctx, authority, raw)
	}
	keys, err := trust.OpenKeys(*path)
	if err != nil {
		return nil, nil, err
	}
	config, err := trust.ClientTLS{Keys: keys}.Config()
	if err != nil {
		return nil, nil, err
	}
	return credentials.NewTLS(config).ClientHandshake(ctx, config.ServerName, raw)
}

func (a adminCredentials) Clone() credentials.TransportCredentials { return a }

// secured gives a member its own secret file, as on another host, and returns the member.
func (m *member) secured(secrets ...trust.Secret) *member {
	m.t.Helper()
	path := filepath.Join(m.t.TempDir(), "secret")
	m.secret.Store(&path)
	m.writeSecrets(secrets...)
	m.flags = append(m.flags, "--secret-file", path)
	return m
}

// writeSecrets replaces the member's secret file.
func (m *member) writeSecrets(secrets ...trust.Secret) {
	m.t.Helper()
	var lines strings.Builder
	for _, s := range secrets {
		lines.WriteString(s.Line() + "\n")
	}
	path := *m.secret.Load()
	next := path + ".next"
	if err := os.WriteFile(next, []byte(lines.String()), 0o600); err != nil {
		m.t.Fatal(err)
	}
	if err := os.Rename(next, path); err != nil {
		m.t.Fatal(err)
	}
}

// firstToken creates a token by the command line with the member's secret file, and returns its text.
func (m *member) firstToken(name string, scopes ...string) string {
	m.t.Helper()
	args := []string{"token", "create", name, "--secret-file", *m.secret.Load()}
	for _, s := range scopes {
		args = append(args, "--scope", s)
	}
	return answer[snowraftv1.CreateTokenResponse](m.t, at(m), args...).GetText()
}

// apis returns the API addresses of members.
func apis(members []*member) (addresses []string) {
	for _, m := range members {
		addresses = append(addresses, m.api)
	}
	return addresses
}

// dialCluster returns a client that is closed at the end of the test.
func dialCluster(t *testing.T, members []*member, options ...client.Option) *client.Client {
	t.Helper()
	c, err := client.New(apis(members), options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}
