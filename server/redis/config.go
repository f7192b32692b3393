package redis

import (
	"context"
	"log/slog"

	"github.com/snowraft/snowraft/internal/clock"
	"github.com/snowraft/snowraft/trust"
)

// Config describes a server of the Redis protocol. Only Authenticate and Clock are optional.
type Config struct {
	Backend Backend
	Logger  *slog.Logger
	// Authenticate returns the principal of a token, or that of callers without one for an empty token. The calls of the Backend
	// carry the caller's principal, and the Backend checks its rights. nil: that of an open cluster, which accepts every password, so
	// that clients can have theirs before their cluster is secured.
	Authenticate func(ctx context.Context, token string) (*trust.Principal, error)
	// Meter returns the meter of a command by its lower-case name. The name "other" stands for all other input
	// of clients and for connections beyond the limit. A HELLO that requests another protocol does not count as an error,
	// because most client libraries start with it.
	Meter func(command string) Meter
	// Clock is used only by TIME; nil: the machine's clock.
	Clock clock.Source
	// MaxClients is the number of connections that INFO shows.
	MaxClients int
}

func (c Config) withDefaults() Config {
	if c.Authenticate == nil {
		c.Authenticate = trust.Everyone{}.Authenticate
	}
	if c.Clock == nil {
		c.Clock = clock.System()
	}
	return c
}
