package client

import (
	"context"
	"errors"
	"fmt"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/snowraft/snowraft/internal/rpc"
	"github.com/snowraft/snowraft/trust"
)

// access is the way to a member: what encrypts the connections, and the token on each call.
type access struct {
	token       string
	ca          []byte // PEM
	credentials credentials.TransportCredentials
	given       bool // by WithTransportCredentials
	calls       []grpc.DialOption
}

// WithToken sends an API token with each call. The pin at the end of a token makes the connections TLS, and
// verifies the members by their cluster's CA: addresses and token are all that a client needs. A token without a
// pin needs [WithCA] or [WithTransportCredentials]; without these, the client sends it to members on this host
// only. To send it in clear text, because something else encrypts, use WithTransportCredentials with
// insecure.NewCredentials().
func WithToken(text string) Option { return func(o *options) { o.token = text } }

// WithCA makes the connections TLS, and verifies the members by the CAs in PEM: CAs of clusters ("snowraft secret
// ca"), whose certificates are judged without host names and clocks, or any other, for members and proxies with
// certificates for their hosts. While the secret of a cluster is replaced, give the CAs of both secrets.
func WithCA(pem []byte) Option { return func(o *options) { o.ca = pem } }

// WithTransportCredentials secures the connections in a way of your own, with a certificate that has to be valid
// for the host in a member's address. It cannot be combined with [WithCA], and a token's pin is not judged. Without
// a token, a CA and credentials, the connections are plain TCP.
func WithTransportCredentials(c credentials.TransportCredentials) Option {
	return func(o *options) { o.credentials, o.given = c, true }
}

// resolve decides on the credentials.
func (a *access) resolve() error {
	if a.token != "" {
		if _, err := trust.ParseToken(a.token); err != nil {
			return fmt.Errorf("client: %w", err) // does not quote the token
		}
	}
	switch {
	case a.given && a.credentials == nil:
		return errors.New("client: transport credentials must not be nil; omit the option for plain TCP")
	case a.given && a.ca != nil:
		return errors.New("client: a CA cannot be combined with transport credentials")
	case !a.given:
		config, err := trust.ClientTLS{Token: a.token, CA: a.ca}.Config()
		switch {
		case err != nil:
			return fmt.Errorf("client: %w", err)
		case config != nil:
			a.credentials = credentials.NewTLS(config)
			if config.ServerName != "" { // pins, which have to arrive in the place of the host
				a.calls = append(a.calls, grpc.WithAuthority(config.ServerName))
			}
		case a.token != "":
			a.credentials = thisHost{insecure.NewCredentials()}
		default:
			a.credentials = insecure.NewCredentials()
		}
	}
	a.calls = append(a.calls, grpc.WithTransportCredentials(a.credentials))
	if a.token != "" {
		a.calls = append(a.calls, grpc.WithPerRPCCredentials(bearer{authorization(a.token), a.plain()}))
	}
	return nil
}

// authorization returns the metadata of a token.
func authorization(token string) map[string]string {
	return map[string]string{"authorization": "Bearer " + token}
}

// plain reports whether connections are plain TCP.
func (a *access) plain() bool {
	return a.credentials.Info().SecurityProtocol == insecure.NewCredentials().Info().SecurityProtocol
}

// thisHost is credentials for plain TCP that does not leave this host.
type thisHost struct {
	credentials.TransportCredentials
}

var errClearText = errors.New("a token without a pin is not sent to another host in clear text; use a token with a pin, or give a CA")

// ClientHandshake implements credentials.TransportCredentials.
func (h thisHost) ClientHandshake(ctx context.Context, authority string, raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	to, ok := raw.RemoteAddr().(*net.TCPAddr)
	if ok && to.IP.IsLoopback() || raw.RemoteAddr().Network() == "unix" {
		return h.TransportCredentials.ClientHandshake(ctx, authority, raw)
	}
	return nil, nil, errClearText
}

// Clone implements credentials.TransportCredentials.
func (h thisHost) Clone() credentials.TransportCredentials { return h }

// bearer puts a token on each call.
type bearer struct {
	header map[string]string // shared by all calls, which only read it
	plain  bool              // clear text was requested, or does not leave this host
}

// GetRequestMetadata implements credentials.PerRPCCredentials.
func (b bearer) GetRequestMetadata(ctx context.Context, _ ...string) (map[string]string, error) {
	switch token, other := rpc.Bearer(ctx); {
	case !other:
		return b.header, nil
	case token == "":
		return nil, nil
	default:
		return authorization(token), nil
	}
}

// RequireTransportSecurity implements credentials.PerRPCCredentials: gRPC refuses to send the token in clear
// text unless plain says otherwise.
func (b bearer) RequireTransportSecurity() bool { return !b.plain }
