package route

import (
	"errors"
	"fmt"

	"github.com/snowraft/snowraft/allocator"
	"github.com/snowraft/snowraft/cluster"
	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/internal/clock"
	"github.com/snowraft/snowraft/internal/member"
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// outcome is the result of all tries of one call.
type outcome struct{ unknown error } // error of the last try that may have had an effect; nil if none

func (o *outcome) see(err error) {
	if errors.Is(err, cluster.ErrUnknownOutcome) {
		o.unknown = err
	}
}

// of returns the error of the call, given the error of its last try. An earlier try may have had an
// effect, even if no member leads now or if the leader shuts down or is too busy.
func (o *outcome) of(err error) error {
	if o.unknown != nil && turnedAway(err) {
		return o.unknown
	}
	return err
}

// turnedAway reports whether an error means only that a try was not made, and says nothing of the earlier tries.
func turnedAway(err error) bool {
	var skew *clock.SkewError
	var behind *clock.BehindError
	return noLeader(err) || errors.Is(err, cluster.ErrClosed) || errors.Is(err, allocator.ErrClosed) ||
		errors.As(err, &skew) || errors.As(err, &behind) || errors.Is(err, &fsm.Refused{Reason: commandv1.Refusal_REFUSAL_OVERLOADED})
}

// noLeader reports whether an error means that no leader was found, and so nothing was done.
func noLeader(err error) bool {
	return !errors.Is(err, cluster.ErrUnknownOutcome) && (errors.Is(err, member.ErrNoLeader) || errors.Is(err, cluster.ErrNotLeader))
}

// retryable reports whether a call may be tried again, at the next leader.
func retryable(err error, harmless bool) bool {
	return noLeader(err) || harmless && errors.Is(err, cluster.ErrUnknownOutcome)
}

// Leaderless reports whether a block was not granted because no leader answered. Numbers were
// not issued then, whatever became of the block.
func Leaderless(err error) bool { return errors.Is(err, cluster.ErrUnknownOutcome) || noLeader(err) }

// ungranted turns an error that leaves the outcome of a block open into a [member.ErrNoLeader].
func ungranted(sequence string, err error) error {
	if err == nil || !Leaderless(err) || errors.Is(err, member.ErrNoLeader) && noLeader(err) {
		return err
	}
	return &ungrantedError{sequence, err}
}

type ungrantedError struct {
	sequence string
	cause    error // not in the chain: no number was issued, so the outcome is known
}

func (e *ungrantedError) Error() string {
	return fmt.Sprintf("no leader grants numbers of sequence %q now: %v", e.sequence, e.cause)
}

func (e *ungrantedError) Is(target error) bool { return target == member.ErrNoLeader }
