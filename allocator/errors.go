package allocator

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/snowraft/snowraft/internal/clock"
)

// Errors, to be matched with errors.Is. Clock errors are those of package
// clock: [*clock.SkewError] and [*clock.BehindError].
var (
	// ErrWindowMismatch: the worker is no longer held under this token, nonce
	// and window end. Granters return it; no caller of an Issuer sees it.
	ErrWindowMismatch = errors.New("the worker is no longer held under this token and window")

	// ErrTimeExhausted: the layout has no tick left, now or ever.
	ErrTimeExhausted = errors.New("the time field of the layout is full; use a layout with more time bits or a later epoch")

	// ErrNotLastBlock: another block was granted since, or this one was returned
	// already. Granters return it from ReturnBlock; no caller of a Sequence sees it.
	ErrNotLastBlock = errors.New("the block is not the last one that was granted")

	// ErrOutdatedBlock: the cluster granted blocks of a generation or period that is
	// known here to be past, or of a sequence that is known to be gone.
	ErrOutdatedBlock = errors.New("the granted blocks are outdated, because the sequence is being changed; try again")

	// ErrOldClusterAlive: a member of a cluster that this one was restored from still runs, and may issue the same.
	ErrOldClusterAlive = errors.New("a member of the old cluster that this one was restored from still runs; stop that member")

	// ErrClosed: the issuer or the sequence was closed.
	ErrClosed = errors.New("this process is shutting down; try another member")

	// ErrInvalidArgument: the request or the configuration can never be served.
	ErrInvalidArgument = errors.New("invalid argument")
)

// WindowEndedError says that the window was used up and that no further one
// was granted in time. It does not unwrap to its cause: that may well be the
// deadline of a call in the background, which is not the caller's deadline.
type WindowEndedError struct {
	Until time.Time // end of the last window; zero if there was none yet
	Cause error     // why there is no further one; nil if that is not known yet
}

func (e *WindowEndedError) Error() string {
	what := "no window was granted yet"
	if !e.Until.IsZero() {
		what = "the window ended at " + stamp(e.Until)
	}
	if e.Cause == nil {
		return what + "; try again, or try another member"
	}
	return fmt.Sprintf("%s, and no new one was granted (%v); restore quorum, or try another member", what, e.Cause)
}

// WorkersExhaustedError says that every worker of a layout is taken.
type WorkersExhaustedError struct {
	Layout string
	// RetryAt is the end of the first of their windows. A holder that keeps running extends its
	// window before, so that no worker is free then either; one that stops may give its
	// worker back sooner.
	RetryAt time.Time
}

func (e *WorkersExhaustedError) Error() string {
	return fmt.Sprintf("all workers of layout %q are held; the first may be free at %s; stop a holder, or use a layout with more worker bits", e.Layout, stamp(e.RetryAt))
}

// FencedError says that the cluster was restored, and that holders of the earlier cluster may still issue what it
// granted.
type FencedError struct {
	Layout  string
	RetryAt time.Time // the first windows are granted
}

func (e *FencedError) Error() string {
	return fmt.Sprintf("no window of layout %q is granted before %s, because the cluster was restored; wait", e.Layout, stamp(e.RetryAt))
}

// InterruptedError says that the context of a call ended before the call did. It
// unwraps to the context's error, and to nothing else: that is why the call failed.
type InterruptedError struct {
	What    string // what the call was doing
	Missing error  // why there was no window to wait with; nil if it did not wait for one
	Err     error  // of the context
}

func (e *InterruptedError) Error() string {
	if e.Missing != nil {
		return fmt.Sprintf("interrupted while %s: %v: %v", e.What, e.Err, e.Missing)
	}
	return fmt.Sprintf("interrupted while %s: %v", e.What, e.Err)
}

// Unwrap returns the error of the context.
func (e *InterruptedError) Unwrap() error { return e.Err }

// interrupted is the error of a context that ended while a call was doing what.
func interrupted(ctx context.Context, what string) error {
	return &InterruptedError{What: what, Err: ctx.Err()}
}

// telling reports whether a lane's problem says more than that the window ended.
func telling(err error) bool {
	_, waits := retryAt(err)
	return ofClock(err) || waits || errors.Is(err, ErrTimeExhausted) || errors.Is(err, ErrOldClusterAlive)
}

// ofClock reports whether an error is that of a clock that is wrong.
func ofClock(err error) bool {
	var skew *clock.SkewError
	var behind *clock.BehindError
	return errors.As(err, &skew) || errors.As(err, &behind)
}

// retryAt returns when a worker may be granted, if the error says so.
func retryAt(err error) (at time.Time, ok bool) {
	var workers *WorkersExhaustedError
	var fenced *FencedError
	switch {
	case errors.As(err, &workers):
		return workers.RetryAt, true
	case errors.As(err, &fenced):
		return fenced.RetryAt, true
	}
	return at, false
}

// lasts is the time that a problem is known to last at least; 0 if it may end any moment.
func lasts(err error, wall int64) time.Duration {
	var behind *clock.BehindError
	at, waits := retryAt(err)
	switch {
	case errors.As(err, &behind):
		return behind.RetryAfter()
	case waits:
		return at.Sub(time.UnixMilli(wall))
	case errors.Is(err, ErrTimeExhausted):
		return math.MaxInt64
	}
	return 0
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z07:00") }
