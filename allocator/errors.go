package allocator

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/snowraft/snowraft/internal/clock"
)

// The errors of this package; match them with [errors.Is]. Clock errors are those of package clock:
// [*clock.SkewError] and [*clock.BehindError].
var (
	// ErrWindowMismatch reports that the worker is no longer held under this token, nonce and window end. Granters
	// return it; no caller of an Issuer sees it.
	ErrWindowMismatch = errors.New("the worker is no longer held under this token and window")

	// ErrTimeExhausted reports that the layout has no tick left, permanently.
	ErrTimeExhausted = errors.New("the time field of the layout is full; use a layout with more time bits or a later epoch")

	// ErrNotLastBlock reports that another block was granted since, that this block was returned already, or that
	// the key is not that of the block. Granters return it from ReturnBlock; no caller of a Sequence sees it.
	ErrNotLastBlock = errors.New("the block is not the last one that was granted")

	// ErrOutdatedBlock reports that the cluster granted blocks of a generation or period that this process knows to be
	// past, or of a sequence that it knows to be deleted.
	ErrOutdatedBlock = errors.New("the granted blocks are outdated, because the sequence is being changed; try again")

	// ErrOldClusterAlive reports that a member of an earlier cluster, or of a sibling from the same backup, runs, and may
	// grant the same windows and blocks.
	ErrOldClusterAlive = errors.New("this cluster was restored, and a member of the earlier cluster or of another restored one runs; stop this cluster if it is a test, otherwise stop that member, or end its cluster with \"snowraft cluster supersede\"")

	// ErrSetBack reports that members of the cluster were set back to an earlier state, so that it may have granted the
	// same twice. It grants nothing more.
	ErrSetBack = errors.New("the cluster was set back in time and is sealed; restore it with \"snowraft restore\"")

	// ErrContradicted reports that a leader contradicts what one member knows to be committed. Another member may answer.
	ErrContradicted = errors.New("this member knows another history than the leader, because disks were set back; restore the cluster with \"snowraft restore\"")

	// ErrClosed reports that the issuer or the sequence was closed.
	ErrClosed = errors.New("this process is shutting down; try another member")

	// ErrInvalidArgument reports that the request or the configuration can never be served.
	ErrInvalidArgument = errors.New("invalid argument")
)

// WindowEndedError reports that the window was used up and that no other window was granted in time. It does
// not unwrap to its cause: the cause may be the deadline of a background call, which is not the caller's
// deadline.
type WindowEndedError struct {
	Until time.Time // end of the last window; zero if there was none yet
	Cause error     // reason that no other window was granted; nil if not known yet
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

// WorkersExhaustedError reports that every worker of a layout that this holder may get is held.
type WorkersExhaustedError struct {
	Layout string
	// RetryAt is the end of the first window of these workers. A holder that keeps running extends its window before
	// that, and then no worker is free at RetryAt either. A holder that stops may release its worker sooner.
	RetryAt time.Time
}

func (e *WorkersExhaustedError) Error() string {
	return fmt.Sprintf("all workers of layout %q are held; the first may be free at %s; stop a holder, or use a layout with more worker bits", e.Layout, stamp(e.RetryAt))
}

// FencedError reports that the cluster was restored, and that holders of the earlier cluster may still issue
// from its grants.
type FencedError struct {
	Layout  string
	RetryAt time.Time // earliest time of a grant
}

func (e *FencedError) Error() string {
	return fmt.Sprintf("no window of layout %q is granted before %s, because the cluster was restored; wait", e.Layout, stamp(e.RetryAt))
}

// RefusedError reports that the cluster grants this process nothing, however often it asks, until someone changes its
// rights. Granters return it. The lane continues to ask.
type RefusedError struct{ Err error }

func (e *RefusedError) Error() string { return e.Err.Error() }

// Unwrap returns the refusal.
func (e *RefusedError) Unwrap() error { return e.Err }

// InterruptedError reports that the context of a call ended before the call did. It unwraps to the context's
// error only, because that is why the call failed.
type InterruptedError struct {
	What    string // activity of the call
	Missing error  // reason that there was no window; nil if the call did not wait for one
	Err     error  // error of the context
}

func (e *InterruptedError) Error() string {
	if e.Missing != nil {
		return fmt.Sprintf("interrupted while %s: %v: %v", e.What, e.Err, e.Missing)
	}
	return fmt.Sprintf("interrupted while %s: %v", e.What, e.Err)
}

// Unwrap returns the error of the context.
func (e *InterruptedError) Unwrap() error { return e.Err }

// interrupted returns the error of a call whose context ended; what names the activity of the call.
func interrupted(ctx context.Context, what string) error {
	return &InterruptedError{What: what, Err: ctx.Err()}
}

// specific reports whether a lane's problem explains more than the end of the window.
func specific(err error) bool {
	_, waits := retryAt(err)
	return ofClock(err) || waits || errors.Is(err, ErrTimeExhausted) || errors.Is(err, ErrOldClusterAlive) || errors.Is(err, ErrSetBack) || errors.Is(err, ErrContradicted) || isRefused(err)
}

func isRefused(err error) bool {
	_, ok := errors.AsType[*RefusedError](err)
	return ok
}

// ofClock reports whether an error is about a wrong clock.
func ofClock(err error) bool {
	var skew *clock.SkewError
	var behind *clock.BehindError
	return errors.As(err, &skew) || errors.As(err, &behind)
}

// retryAt returns the time at which a worker may be granted, if the error holds it.
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

// lasts returns the least time for which a problem is known to last; 0 if it may end at any moment. wall is in
// Unix milliseconds.
func lasts(err error, wall int64) time.Duration {
	var behind *clock.BehindError
	at, waits := retryAt(err)
	switch {
	case errors.As(err, &behind):
		return behind.RetryAfter()
	case waits:
		return at.Sub(time.UnixMilli(wall))
	case errors.Is(err, ErrTimeExhausted), errors.Is(err, ErrSetBack), isRefused(err):
		return math.MaxInt64
	}
	return 0
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z07:00") }
