package client

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Resolution is an application's answer to the question what became of a reserved number. The zero Resolution leaves the
// reservation open.
type Resolution struct {
	// Fate is FateConfirmed if the document with the number is committed, FateVoid if it is not and never will be, and FateOpen if
	// the application does not know.
	Fate Fate
	// Reason is the reason of a void number, 1 to 256 bytes.
	Reason string
	// NeverCommitted makes a void number reusable; see [Sequence.VoidNeverCommitted].
	NeverCommitted bool
}

// Reconciled counts the reservations of a [Sequence.Reconcile].
type Reconciled struct {
	Confirmed, Void, Left int
	// Overtaken is the number of reservations that another caller reserved again or settled meanwhile.
	Overtaken int
}

// Reconcile calls resolve for each open reservation whose first attempt was at least minAge ago, the oldest first, and confirms or
// voids the number as resolve says. Call it from time to time: it settles the numbers of processes that crashed between a
// reservation and its confirmation. Processes may call it concurrently. minAge is longer than a transaction usually takes.
//
// Only the application's database knows what became of a number. If it has no document with the number, a transaction may still
// commit one: commit a void row for the number first, and answer FateVoid after that. A reservation that was attempted again
// meanwhile is left as it is. Reconcile stops at the first other error, of resolve or of the cluster, and may be called again.
func (s *Sequence) Reconcile(ctx context.Context, minAge time.Duration, resolve func(context.Context, Reservation) (Resolution, error)) (done Reconciled, err error) {
	for r, err := range s.OpenReservations(ctx, minAge) {
		if err != nil {
			return done, err
		}
		answer, err := resolve(ctx, r)
		if err != nil {
			return done, fmt.Errorf("resolve key %q with number %d: %w", r.Key, r.Number, err)
		}
		count, err := s.settle(ctx, r.Claim, answer, &done)
		switch {
		case err == nil:
			*count++
		case errors.Is(err, ErrStaleAttempt), errors.Is(err, ErrAlreadySettled), errors.Is(err, ErrUnknownReservation):
			done.Overtaken++
		default:
			return done, err
		}
	}
	return done, nil
}

// settle does what a resolution says, and returns its counter.
func (s *Sequence) settle(ctx context.Context, c Claim, answer Resolution, done *Reconciled) (*int, error) {
	switch answer.Fate {
	case FateOpen:
		return &done.Left, nil
	case FateConfirmed:
		return &done.Confirmed, s.Confirm(ctx, c)
	case FateVoid:
		return &done.Void, s.void(ctx, answer.Reason, answer.NeverCommitted, []Claim{c})
	}
	return nil, invalid(fmt.Sprintf("fate %d of a resolution: expected FateOpen, FateConfirmed or FateVoid", answer.Fate))
}
