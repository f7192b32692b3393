package redis

import (
	"cmp"
	"context"
	"log/slog"

	"github.com/snowraft/snowraft/internal/clock"
	"github.com/snowraft/snowraft/trust"
)

// Config describes a server of the Redis protocol. All but Backend are optional.
type Config struct {
	Backend Backend
	Logger  *slog.Logger
	// Authenticate returns the principal of a token, and the anonymous one of an empty token. The Backend's calls have
	// the caller's principal, and it judges them. nil: the cluster is open, and anyone may send any command.
	Authenticate func(ctx context.Context, token string) (*trust.Principal, error)
	// Meter, if not nil, returns the meter of a command that is served, by its lower-case name, or of
	// "other", which is all else that clients send, and connections that are one too many. HELLO with another protocol is not counted as
	// an error: most client libraries begin with it.
	Meter func(command string) Meter
	// Clock is asked by TIME only.
	Clock clock.Source
	// MaxClients is the greatest number of connections; 0 is 10,000. One too many
	// is told so, and closed.
	MaxClients int
	// MaxClientsFrom is the most clients from one address; 0 is half of all.
	MaxClientsFrom int
}

func (c Config) withDefaults() Config {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Meter == nil {
		c.Meter = func(string) Meter { return noMeter{} }
	}
	if c.Clock == nil {
		c.Clock = clock.System()
	}
	c.MaxClients = cmp.Or(c.MaxClients, 10_000)
	c.MaxClientsFrom = cmp.Or(c.MaxClientsFrom, c.MaxClients/2)
	return c
}
