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

// Config holds the settings of an [Issuer]. Layout, Holder, Granter and Watch are required.
type Config struct {
	// Layout is the layout of the IDs. It must be able to issue: see [snowflake.Layout.CanIssue].
	Layout *snowflake.Layout
	// Holder is the stable name of this process, not empty. Lane i acquires its worker as "Holder/i".
	Holder string
	// Nonce is drawn at random when the process starts.
	Nonce Nonce
	// Lanes is the number of workers to hold, 1 to 64; 0 means 1. Each lane adds as many IDs per tick as the
	// layout has sequences.
	Lanes int
	// Granter grants windows.
	Granter Granter
	// Watch holds the clock and the limits, and checks the clock.
	Watch *clock.Watch
	// MaxAhead is the greatest time by which a lane issues ahead of the clock, when all earlier ticks are full.
	// It is rounded down to whole ticks. 0 means 5 ms; a negative value means that it never does.
	MaxAhead time.Duration
	// Idle is the time for which a lane keeps its worker without a caller; 0 for no limit. After the next extension
	// the lane releases the worker. It acquires one again when a caller finds that no lane has anything to issue. A lane
	// that holds no worker stops requesting one after a minute, or after Idle if that is less.
	Idle time.Duration
	// WindowWait, if not nil, returns the longest time that a call with this context waits for a window; 0 means
	// not at all. If WindowWait is nil, that time is the wait threshold. The context bounds the wait too, and so
	// does the wait threshold while the cluster refuses this process's clock. had is false as long as no lane
	// has had a window since it started or was last idle.
	WindowWait func(ctx context.Context, had bool) time.Duration
	// Observe, if not nil, is called by the lanes' goroutines with the observed clock of each grant, in Unix
	// milliseconds. A process without a replica learns the observed clock this way.
	Observe func(unixMillis int64)
	// Wait, if not nil, observes calls that wait for a window.
	Wait Wait
	// Events records notable events for operators; nil discards them.
	Events Events
	// Logger logs messages for operators; nil discards them.
	Logger *slog.Logger
}

// check validates the settings and fills in defaults.
func (c *Config) check() error {
	switch {
	case c.Layout == nil || c.Granter == nil || c.Watch == nil:
		return fmt.Errorf("%w: layout, granter and watch are required", ErrInvalidArgument)
	case c.Holder == "":
		return fmt.Errorf("%w: the holder needs a name", ErrInvalidArgument)
	case c.Lanes < 0 || c.Lanes > limits.Lanes:
		return fmt.Errorf("%w: %d lanes: expected 1 to %d", ErrInvalidArgument, c.Lanes, limits.Lanes)
	}
	// A clock before the epoch is wrong, but may be corrected while the issuer runs.
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
	if c.WindowWait == nil {
		c.WindowWait = func(context.Context, bool) time.Duration { return c.Watch.Limits().WaitThreshold }
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
