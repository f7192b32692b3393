package gateway

import (
	"errors"
	"log/slog"

	"github.com/snowraft/snowraft/internal/names/nfc"
	"github.com/snowraft/snowraft/internal/tracing"
	"github.com/snowraft/snowraft/server/frontend"
	"github.com/snowraft/snowraft/server/socket"
	"github.com/snowraft/snowraft/trust"
)

// Config describes a gateway.
type Config struct {
	// Name is the name of the gateway in INFO; if empty, the host name.
	Name string
	// Members are API addresses of some members; at least one is required.
	Members []string

	// Bind addresses, host:port; port 0 selects a free port.
	APIAddr  string
	HTTPAddr string
	// RedisAddr is the address for Redis clients; empty disables the listener.
	RedisAddr string
	// ThriftAddr is the address for clients of Twitter's Snowflake server; empty disables the listener.
	ThriftAddr string
	// HTTPSocket and RedisSocket are Unix sockets for HTTP and Redis clients, without TLS; an empty path disables the socket. Without a
	// mode, only the user of the process may connect.
	HTTPSocket, RedisSocket socket.File

	// HTTPHosts are further host names by which browsers may reach the HTTP port in front of an open cluster.
	HTTPHosts []string

	// Token is the gateway's own token, with which it requests the rights of callers from members and fetches IDs ahead. It is
	// empty in front of an open cluster, where every caller has every right.
	Token string
	// CA is a CA certificate in PEM to verify members; nil: the pin in the token verifies members.
	CA []byte
	// OwnCertificate is the certificate for clients; nil: clients use plain TCP.
	OwnCertificate *trust.OwnCertificate
	// AuditLog records the administrative calls; nil: Logger records them.
	AuditLog *trust.AuditLog

	// Tracer makes spans of requests; nil: no spans. The caller of Open closes the tracer after the gateway.
	Tracer *tracing.Tracer

	Logger  *slog.Logger // nil: no log
	Version string
	// Network replaces the machine's network in tests.
	Network frontend.Network
}

func (c Config) withDefaults() (Config, error) {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	var err error
	if c.Name, err = nfc.ProcessName("gateway name", c.Name); err != nil {
		return c, err
	}
	if len(c.Members) == 0 {
		return c, errors.New("members: missing; give the API address of a member")
	}
	return c, nil
}
