package allocator

import (
	"errors"

	"github.com/snowraft/snowraft/internal/clock"
)

// What planted bugs do that takes more than a line.

// assumed is the answer that the bug mutant.AssumeExtended makes up for an extension
// that nobody answered: what was asked for.
func (l *lane) assumed(held *lease, now clock.Reading) Grant {
	layout := l.issuer.layout
	end := min(layout.TickAt(now.Wall+l.window.next().Milliseconds()), int64(layout.Ticks()))
	return Grant{Worker: held.worker, Token: held.token, From: held.from, Until: max(held.until(), end), MaxWindow: l.window.max}
}

// unanswered reports whether a call failed without word from the cluster that it refuses.
func unanswered(err error) bool {
	for _, refused := range []error{ErrWindowMismatch, ErrTimeExhausted, ErrClosed} {
		if errors.Is(err, refused) {
			return false
		}
	}
	var behind *clock.BehindError
	var skew *clock.SkewError
	return err != nil && !errors.As(err, &behind) && !errors.As(err, &skew)
}

// resetSequence begins the tick of a position anew: mutant.ResetBeforeCheck.
func (l *lease) resetSequence(position uint64) {
	l.position.CompareAndSwap(position, l.cell(l.tick(position)))
}

// wrap begins the clock's tick anew when it is full, and gives out nothing of the next one
// before the clock is there: mutant.SequenceWraps.
func (l *lease) wrap(start, bound uint64, tick int64) (newStart, newBound uint64) {
	full := l.cell(tick + 1)
	switch {
	case start == full:
		return l.cell(tick), min(bound, full)
	case start < full:
		return start, min(bound, full)
	default: // the clock went back
		return start, bound
	}
}
