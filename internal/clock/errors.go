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
	return fmt.Sprintf("this clock is %v ahead of the majority's, limit %v; correct the clock, or those of the other members if this one is correct", e.Ahead, e.Limit)
}

// BehindError reports that the clock is behind by more than the wait threshold.
type BehindError struct {
	// Behind is the time by which the clock is behind the time that it must have reached, usually the observed clock.
	Behind time.Duration
	// Limit is the wait threshold.
	Limit time.Duration
	// InStep reports whether the clock agrees with the majority's: then the observed clock is in the future.
	InStep bool
}

func (e *BehindError) Error() string {
	if e.InStep {
		return fmt.Sprintf("the observed clock is %v ahead of this clock and of the majority's, limit %v; wait until they have caught up, "+
			"or, if they are correct, set it back with \"snowraft clock reset\"", e.Behind, e.Limit)
	}
	return fmt.Sprintf("this clock is %v behind, limit %v; correct the clock, or wait until it has caught up", e.Behind, e.Limit)
}

// RetryAfter returns the time after which the clock is within the limit if it continues without a correction.
func (e *BehindError) RetryAfter() time.Duration { return e.Behind - e.Limit }
