package frontend

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"

	"github.com/snowraft/snowraft/server/conn"
	"github.com/snowraft/snowraft/trust"
)

// recordHandshake is the first byte of a TLS connection. HTTP/2 without TLS begins with a letter.
const recordHandshake = 0x16

// connection is the authentication state that gRPC keeps for a connection.
type connection struct {
	credentials.CommonAuthInfo
	// principal is the caller if it needs no token; see [Auth.certified].
	principal *trust.Principal
	asked     string // result of [Auth.asked]
}

// AuthType implements credentials.AuthInfo.
func (connection) AuthType() string { return "snowraft" }

func connectionOf(ctx context.Context) connection {
	if p, ok := peer.FromContext(ctx); ok {
		if c, ok := p.AuthInfo.(connection); ok {
			return c
		}
	}
	return connection{}
}

// handshaker secures the connections of the API port. It implements credentials.TransportCredentials.
type handshaker struct {
	auth *Auth
	tls  *tls.Config // nil: plain text only
	// plain allows clients to connect without TLS. Members always use TLS.
	plain bool
}

// ServerHandshake implements credentials.TransportCredentials.
func (h *handshaker) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	info := connection{CommonAuthInfo: credentials.CommonAuthInfo{SecurityLevel: credentials.NoSecurity}, principal: h.auth.certified(nil)}
	client := conn.Of(raw)
	client.LimitReadAhead()
	defer client.Requested()
	if h.tls == nil {
		return raw, info, nil
	}
	if h.plain {
		first := make([]byte, 1)
		if _, err := io.ReadFull(raw, first); err != nil {
			return nil, nil, err
		}
		raw = &begun{Conn: raw, first: first}
		if first[0] != recordHandshake {
			return raw, info, nil
		}
	}
	if h.auth.Keys != nil {
		raw = h.auth.Keys.Track(raw)
	}
	secured := tls.Server(raw, h.tls)
	if err := secured.Handshake(); err != nil {
		_ = secured.Close()
		return nil, nil, err
	}
	state := secured.ConnectionState()
	info.SecurityLevel = credentials.PrivacyAndIntegrity
	info.principal = h.auth.certified(&state)
	info.asked = h.auth.asked(&state)
	return secured, info, nil
}

// ClientHandshake implements credentials.TransportCredentials.
func (*handshaker) ClientHandshake(context.Context, string, net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return nil, nil, errors.New("credentials of a server")
}

// Info implements credentials.TransportCredentials.
func (*handshaker) Info() credentials.ProtocolInfo {
	return credentials.ProtocolInfo{SecurityProtocol: "tls"}
}

// Clone implements credentials.TransportCredentials.
func (h *handshaker) Clone() credentials.TransportCredentials { return h }

// OverrideServerName implements credentials.TransportCredentials.
func (*handshaker) OverrideServerName(string) error { return nil }

// begun is a connection whose first bytes have been read.
type begun struct {
	net.Conn
	first []byte
}

func (b *begun) Read(p []byte) (int, error) {
	if len(b.first) > 0 {
		n := copy(p, b.first)
		b.first = b.first[n:]
		return n, nil
	}
	return b.Conn.Read(p)
}
