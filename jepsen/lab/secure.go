//go:build linux

package lab

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"os"
	"path/filepath"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/trust"
)

// access holds the credentials of this process in a secured cluster.
type access struct {
	file  string // path of the secret
	admin *tls.Config
	// token is the clients' token, with all scopes that workloads need, and powerless the strangers' token, without scopes.
	// Both are empty until Authorize.
	token, powerless string
	client           *tls.Config
}

// secure makes the secret of the members.
func (l *Lab) secure() error {
	path, err := filepath.Abs(filepath.Join(l.cfg.Dir, "secret"))
	if err != nil {
		return err
	}
	if err := os.WriteFile(path, []byte(trust.NewSecret().Line()+"\n"), 0o600); err != nil {
		return err
	}
	keys, err := trust.OpenKeys(path)
	if err != nil {
		return err
	}
	config, err := trust.ClientTLS{Keys: keys}.Config()
	if err != nil {
		return err
	}
	l.access = &access{file: path, admin: config}
	l.cfg.Flags = append(l.cfg.Flags, l.secret()...)
	return nil
}

// secret returns the flags for the secret, none if the cluster has no secret.
func (l *Lab) secret() []string {
	if l.access == nil {
		return nil
	}
	return []string{"--secret-file", l.access.file}
}

// Authorize makes the tokens of clients and strangers if the cluster is secured. Later connections use the clients' token.
func (l *Lab) Authorize(ctx context.Context) error {
	if l.access == nil {
		return nil
	}
	conn, err := l.Connect(l.Founders()[0])
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // no call is open
	create := func(name string, scopes ...string) (string, error) {
		resp, err := snowraftv1.NewTokenServiceClient(conn).CreateToken(ctx, &snowraftv1.CreateTokenRequest{
			Token: &snowraftv1.Token{Name: name, Scopes: scopes},
		}, grpc.WaitForReady(true))
		return resp.GetText(), err
	}
	token, err := create("clients", "ids:issue:*", "ids:backfill:*", "seq:next:*", "seq:read:*", "seq:admin:*", "seq:decode:*", "worker:lease:*", "cluster:read", "cluster:admin")
	if err != nil {
		return err
	}
	powerless, err := create("powerless")
	if err != nil {
		return err
	}
	client, err := trust.ClientTLS{Token: token}.Config()
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.access.token, l.access.powerless, l.access.client = token, powerless, client
	return nil
}

// Token returns the token of clients, empty unless the cluster is secured.
func (l *Lab) Token() string { return l.tokens().token }

// Powerless returns a valid token without scopes, empty unless the cluster is secured.
func (l *Lab) Powerless() string { return l.tokens().powerless }

func (l *Lab) tokens() access {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.access == nil {
		return access{}
	}
	return *l.access
}

// Credentials returns the dial options with the credentials of a gRPC client.
func (l *Lab) Credentials() []grpc.DialOption {
	if a := l.tokens(); a.client != nil {
		return []grpc.DialOption{grpc.WithTransportCredentials(credentials.NewTLS(a.client)), grpc.WithPerRPCCredentials(bearer(a.token))}
	}
	return l.adminCredentials()
}

// adminCredentials returns the dial options with an administrator's credentials, valid in every cluster that has the secret.
func (l *Lab) adminCredentials() []grpc.DialOption {
	if a := l.tokens(); a.admin != nil {
		return []grpc.DialOption{grpc.WithTransportCredentials(credentials.NewTLS(a.admin))}
	}
	return []grpc.DialOption{grpc.WithTransportCredentials(insecure.NewCredentials())}
}

// Encrypt makes a TLS handshake on a connection of Dial if the cluster is secured, and closes the connection if it fails.
func (l *Lab) Encrypt(ctx context.Context, conn net.Conn) (net.Conn, error) {
	a := l.tokens()
	if a.client == nil {
		return conn, nil
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	over := tls.Client(conn, a.client)
	if err := over.HandshakeContext(ctx); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return over, nil
}

// bearer is a token that is sent with each call.
type bearer string

// GetRequestMetadata implements credentials.PerRPCCredentials.
func (b bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + string(b)}, nil
}

// RequireTransportSecurity implements credentials.PerRPCCredentials.
func (bearer) RequireTransportSecurity() bool { return true }
