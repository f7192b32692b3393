package gateway

import (
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/snowraft/snowraft/internal/names/nfc"
	"github.com/snowraft/snowraft/internal/tracing"
	"github.com/snowraft/snowraft/trust"
)

// Config describes a gateway.
type Config struct {
	// Name is the name of the gateway in INFO; if empty, the host name.
	Name string
	// Members are API addresses of members; some suffice.
	Members []string

	// Bind addresses, host:port; port 0 picks a free one.
	APIAddr  string
	HTTPAddr string
	// RedisAddr is the address for Redis clients; empty disables the listener.
	RedisAddr string
	// ThriftAddr is the address for clients of Twitter's Snowflake server; empty: none.
	ThriftAddr string

	// Token is the gateway's own, by which it asks members what callers may do and fetches IDs ahead; empty in
	// front of an open cluster, where anyone may do anything.
	Token string
	// CA is PEM to verify members by; nil: the pin in the token.
	CA []byte
	// OwnCertificate is for clients; nil: clients speak plain TCP.
	OwnCertificate *trust.OwnCertificate
	// AuditLog gets the administrative calls; nil: the log.
	AuditLog *trust.AuditLog

	// Tracer makes spans of requests; nil: none. The owner closes it after the gateway.
	Tracer *tracing.Tracer

	Logger  *slog.Logger
	Version string
}

func (c Config) withDefaults() (Config, error) {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Name == "" {
		name, err := os.Hostname()
		if err != nil {
			return c, fmt.Errorf("name: %w", err)
		}
		c.Name = name
	}
	if err := nfc.CheckProcess("gateway name", c.Name); err != nil {
		return c, err
	}
	if len(c.Members) == 0 {
		return c, errors.New("members: missing; give the API address of a member")
	}
	return c, nil
}
