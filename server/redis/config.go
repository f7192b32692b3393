package redis

import (
	"cmp"
	"fmt"
	"log/slog"

	"github.com/snowraft/snowraft/internal/clock"
)

// CreateMode says what the first INCR of a key that is no sequence does.
type CreateMode int

// The modes that sequences are created in.
const (
	CreateStrict  CreateMode = iota // creates a strict sequence
	CreateRelaxed                   // creates a relaxed sequence
	CreateOff                       // is refused
)

// ParseCreateMode reads off, relaxed or strict; empty is strict.
func ParseCreateMode(name string) (CreateMode, error) {
	switch name {
	case "", "strict":
		return CreateStrict, nil
	case "relaxed":
		return CreateRelaxed, nil
	case "off":
		return CreateOff, nil
	}
	return 0, fmt.Errorf("create is %q, expected strict, relaxed or off", name)
}

// Config describes the Redis protocol face. All but Backend may be left out.
type Config struct {
	Backend Backend
	Create  CreateMode
	Logger  *slog.Logger
	// Refused, if not nil, is told of every command that is answered with an error, but for
	// HELLO with another protocol. rpc.FromError can read why.
	Refused func(why error)
	// Clock is asked by TIME only.
	Clock clock.Source
	// MaxClients is how many connections there may be; 0 is 10,000. One too many
	// is told so, and closed.
	MaxClients int
}

func (c Config) withDefaults() Config {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Refused == nil {
		c.Refused = func(error) {}
	}
	if c.Clock == nil {
		c.Clock = clock.System()
	}
	c.MaxClients = cmp.Or(c.MaxClients, 10_000)
	return c
}
