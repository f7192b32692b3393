package clock

import (
	"fmt"
	"time"
)

// SkewError says that the clock is ahead of the majority's by more than is allowed.
type SkewError struct {
	Ahead time.Duration
	Limit time.Duration
}

func (e *SkewError) Error() string {
	return fmt.Sprintf("this clock is %v ahead of the majority's, limit %v; correct the clock", e.Ahead, e.Limit)
}

// BehindError says that the clock is behind by more than the wait threshold.
type BehindError struct {
	// Behind is the time by which the clock is behind what was seen before.
	Behind time.Duration
	// Limit is the wait threshold.
	Limit time.Duration
}

func (e *BehindError) Error() string {
	return fmt.Sprintf("this clock is %v behind, limit %v; correct the clock, or wait until it has caught up", e.Behind, e.Limit)
}

// RetryAfter is the time that the clock takes to catch up on its own.
func (e *BehindError) RetryAfter() time.Duration { return e.Behind - e.Limit }
