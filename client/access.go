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

// access holds the credentials that secure the connections, and the token that is sent with each call.
type access struct {
	token       string
	ca          []byte // PEM
	credentials credentials.TransportCredentials
	given       bool // set by WithTransportCredentials
	calls       []grpc.DialOption
}

// WithToken sends an API token with each call. If the token ends with a pin, the client uses TLS and verifies the
// members by their cluster's CA: it needs nothing but addresses and the token. A token without a pin needs [WithCA]
// or [WithTransportCredentials]; without these, the client sends the token only to members on this host. If
// something else encrypts the connections, use WithTransportCredentials with insecure.NewCredentials() to send
// the token in clear text.
func WithToken(text string) Option { return func(o *options) { o.token = text } }

// WithCA makes the client use TLS and verify the members by the given CAs, in PEM. A cluster's own CA ("snowraft secret
// ca") verifies certificates without regard to host names and clocks. Any other CA is for members and proxies that
// have certificates for their hosts. While a cluster's secret is replaced, give the CAs of both secrets.
func WithCA(pem []byte) Option { return func(o *options) { o.ca = pem } }

// WithTransportCredentials secures the connections with the given credentials. A member's certificate must be valid
// for the host in its address. The option cannot be combined with [WithCA], and the client ignores the pin of a token.
// Without a token, a CA and credentials, the connections are plain TCP.
func WithTransportCredentials(c credentials.TransportCredentials) Option {
	return func(o *options) { o.credentials, o.given = c, true }
}

// resolve sets the credentials and dial options from the token, the CA and the given credentials.
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
			if config.ServerName != "" { // the pins, which take the place of the host name
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

// thisHost is credentials for plain TCP within this host. They reject connections to other hosts.
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

// bearer adds a token to each call.
type bearer struct {
	header map[string]string // shared by all calls, which only read it
	plain  bool              // clear text is allowed: it was requested, or does not leave this host
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
