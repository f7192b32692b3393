package clock

import (
	"fmt"
	"time"
)

// SkewError reports that the clock is further ahead of the majority's than the limit.
type SkewError struct {
	// Ahead is the time by which the clock is ahead, more than Limit.
	Ahead time.Duration
	// Limit is the maximum clock offset.
	Limit time.Duration
}

func (e *SkewError) Error() string {
	return fmt.Sprintf("this clock is %v ahead of the majority's, limit %v; correct the clock", e.Ahead, e.Limit)
}

// BehindError reports that the clock is behind by more than the wait threshold.
type BehindError struct {
	// Behind is the time by which the clock is behind the time that it must have reached, usually the observed clock.
	Behind time.Duration
	// Limit is the wait threshold.
	Limit time.Duration
}

func (e *BehindError) Error() string {
	return fmt.Sprintf("this clock is %v behind, limit %v; correct the clock, or wait until it has caught up", e.Behind, e.Limit)
}

// RetryAfter returns the time after which the clock is within the limit if it continues without a correction.
func (e *BehindError) RetryAfter() time.Duration { return e.Behind - e.Limit }
