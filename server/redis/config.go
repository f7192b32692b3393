package redis

import (
	"cmp"
	"fmt"
	"log/slog"
	"time"

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
	// CallTimeout is how long a call of the Backend may take at least; it may take
	// a fifth longer. 0 is 5 s, of which a member uses 2 s to wait for a leader.
	CallTimeout time.Duration
	// IdleTimeout closes connections without a command for that long; 0: never.
	IdleTimeout time.Duration
	// StallTimeout closes connections whose client has sent a part of a command,
	// or does not take its answers, for that long; 0 is 30 s.
	StallTimeout time.Duration
}

const (
	defaultMaxClients   = 10_000
	defaultCallTimeout  = 5 * time.Second
	defaultStallTimeout = 30 * time.Second
)

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
	c.MaxClients = cmp.Or(c.MaxClients, defaultMaxClients)
	c.CallTimeout = cmp.Or(c.CallTimeout, defaultCallTimeout)
	c.StallTimeout = cmp.Or(c.StallTimeout, defaultStallTimeout)
	return c
}

// beat is how often connections are looked at, and how exact timeouts are.
func (c Config) beat() time.Duration {
	beat := min(time.Second, c.CallTimeout/5, c.StallTimeout/5)
	if c.IdleTimeout > 0 {
		beat = min(beat, c.IdleTimeout/5)
	}
	return max(beat, time.Millisecond)
}
