package allocator

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/snowraft/snowraft/internal/clock"
	"github.com/snowraft/snowraft/internal/events"
	"github.com/snowraft/snowraft/internal/limits"
	"github.com/snowraft/snowraft/snowflake"
)

// defaultMaxAhead bounds how far ahead of the clock a lane issues, unless the configuration says otherwise.
const defaultMaxAhead = 5 * time.Millisecond

// Config holds the settings of an [Issuer].
type Config struct {
	// Layout of the IDs; one that can issue.
	Layout *snowflake.Layout
	// Holder is this process's stable name. Lane i asks as "Holder/i".
	Holder string
	// Nonce is drawn at random when the process starts.
	Nonce Nonce
	// Lanes is the number of workers to hold, 1 to 64; 0 is 1. Each adds as many IDs
	// a tick as the layout has sequences.
	Lanes int
	// Granter grants windows.
	Granter Granter
	// Watch is the clock, the judge of it, and the limits.
	Watch *clock.Watch
	// MaxAhead is the greatest time ahead of the clock at which a tick is used when those
	// before are full; rounded down to ticks. 0 is 5 ms, less than 0 is not at all.
	MaxAhead time.Duration
	// Idle, if not 0, is how long a lane without a caller keeps its worker. With the first extension
	// after that it releases the worker, until a caller finds that no lane has anything to issue. A
	// lane that holds no worker stops requesting one after a minute, or after Idle if that is less.
	Idle time.Duration
	// Patience, if not nil, says how long a call with this context waits for a window, at
	// most; 0 is not at all, and nil the wait threshold. The context itself bounds it too, and
	// the wait threshold while the cluster refuses this process's clock. had is false until
	// there was a window once.
	Patience func(ctx context.Context, had bool) time.Duration
	// Observe, if not nil, is called with the observed clock of each grant, in
	// Unix milliseconds, by the lanes' goroutines: for a process that has no
	// replica to read it from.
	Observe func(unixMillis int64)
	// Wait, if not nil, observes calls that wait for a window.
	Wait Wait
	// Events records what people look back on; nil: it is not recorded.
	Events Events
	// Logger for what operators should know; nil discards it.
	Logger *slog.Logger
}

// check fills in defaults.
func (c *Config) check() error {
	switch {
	case c.Layout == nil || c.Granter == nil || c.Watch == nil:
		return fmt.Errorf("%w: layout, granter and watch are required", ErrInvalidArgument)
	case c.Holder == "":
		return fmt.Errorf("%w: the holder needs a name", ErrInvalidArgument)
	case c.Lanes < 0 || c.Lanes > limits.Lanes:
		return fmt.Errorf("%w: %d lanes: expected 1 to %d", ErrInvalidArgument, c.Lanes, limits.Lanes)
	}
	// A clock that is before the epoch is wrong and may become right.
	if err := c.Layout.CanIssue(max(c.Watch.Now().Wall, c.Layout.MillisAt(0))); err != nil {
		return fmt.Errorf("%w: %w", ErrInvalidArgument, err)
	}
	if c.Lanes == 0 {
		c.Lanes = 1
	}
	if c.MaxAhead == 0 {
		c.MaxAhead = defaultMaxAhead
	}
	c.MaxAhead = max(0, c.MaxAhead)
	if c.Patience == nil {
		c.Patience = func(context.Context, bool) time.Duration { return c.Watch.Limits().WaitThreshold }
	}
	if c.Observe == nil {
		c.Observe = func(int64) {}
	}
	if c.Events == nil {
		c.Events = events.Discard
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return nil
}
