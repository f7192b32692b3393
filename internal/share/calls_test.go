package share

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

const (
	limit   = 1_000_000
	timeout = 10 * time.Second
)

var errExhausted = errors.New("exhausted")

// run is count numbers that decrease by 3.
type run struct {
	first int64
	count uint64
}

func (r run) Part(skip, count uint64) run { return run{r.first - 3*int64(skip), count} }

// ferry is a leader that answers when the test lets it.
type ferry struct {
	*Calls[run]
	t     *testing.T
	calls chan ferryCall
}

type ferryCall struct {
	key    Key
	count  uint64
	answer chan<- ferryAnswer
}

type ferryAnswer struct {
	numbers run
	err     error
}

func newFerry(t *testing.T) *ferry {
	f := &ferry{t: t, calls: make(chan ferryCall)}
	exhausted := func(err error) bool { return errors.Is(err, errExhausted) }
	f.Calls = New(limit, timeout, exhausted, func(ctx context.Context, key Key, count uint64) (run, error) {
		answer := make(chan ferryAnswer)
		select {
		case f.calls <- ferryCall{key, count, answer}:
		case <-ctx.Done():
			return run{}, ctx.Err()
		}
		a := <-answer
		return a.numbers, a.err
	})
	f.Gather()
	return f
}

// come lets a caller wait.
func (f *ferry) come(ctx context.Context, sequence string, count uint64) <-chan ferryAnswer {
	reply := make(chan ferryAnswer, 1)
	go func() {
		n, err := f.Do(ctx, Key{Sequence: sequence}, count)
		reply <- ferryAnswer{n, err}
	}()
	synctest.Wait()
	return reply
}

// sail expects a call for count numbers and answers it.
func (f *ferry) sail(count uint64, first int64) {
	f.t.Helper()
	call := <-f.calls
	if call.count != count {
		f.t.Errorf("call for %d numbers, want %d", call.count, count)
	}
	call.answer <- ferryAnswer{numbers: run{first, call.count}}
	synctest.Wait()
}

func (f *ferry) gets(reply <-chan ferryAnswer, first int64, count uint64) {
	f.t.Helper()
	select {
	case a := <-reply:
		if a.err != nil || a.numbers != (run{first, count}) {
			f.t.Errorf("%+v, %v, want %d from %d on", a.numbers, a.err, count, first)
		}
	default:
		f.t.Error("no answer")
	}
}

// over checks that nothing is left behind.
func (f *ferry) over() {
	f.t.Helper()
	synctest.Wait()
	if len(f.waiting) > 0 {
		f.t.Errorf("%d keys are left", len(f.waiting))
	}
}

// Callers that come while a call is in progress share the next call, and get their parts
// in the order in which they came.
func TestCallersShareACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFerry(t)
		first := f.come(t.Context(), "s", 2)
		var later []<-chan ferryAnswer
		for _, count := range []uint64{5, 1, 3} {
			later = append(later, f.come(t.Context(), "s", count))
		}
		f.sail(2, 100)
		f.gets(first, 100, 2)
		f.sail(9, 50)
		f.gets(later[0], 50, 5)
		f.gets(later[1], 35, 1)
		f.gets(later[2], 32, 3)
		f.over()
		alone := f.come(t.Context(), "s", 1)
		f.sail(1, 10)
		f.gets(alone, 10, 1)
		f.over()
	})
}

// One call requests at most a million numbers, and no caller is overtaken because of that.
func TestSharedCallsAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFerry(t)
		var replies []<-chan ferryAnswer
		for _, count := range []uint64{1, 600_000, 600_000, 400_000, 1, limit} {
			replies = append(replies, f.come(t.Context(), "s", count))
		}
		f.sail(1, 0)
		f.sail(600_000, -10)
		f.sail(limit, -20) // 600,000 and 400,000
		f.sail(1, -30)
		f.sail(limit, -40)
		f.gets(replies[0], 0, 1)
		f.gets(replies[1], -10, 600_000)
		f.gets(replies[2], -20, 600_000)
		f.gets(replies[3], -20-3*600_000, 400_000)
		f.gets(replies[4], -30, 1)
		f.gets(replies[5], -40, limit)
		f.over()
	})
}

// The part of a caller that gives up during the call is lost: no other caller gets it. For a caller that
// gives up before the call, nothing is requested.
func TestCanceledCallersLeaveACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFerry(t)
		ctx, cancel := context.WithCancel(t.Context())
		aboard := f.come(ctx, "s", 1)
		waiting := f.come(ctx, "s", 4)
		patient := f.come(t.Context(), "s", 2)
		cancel()
		synctest.Wait()
		for _, reply := range []<-chan ferryAnswer{aboard, waiting} {
			if a := <-reply; !errors.Is(a.err, context.Canceled) {
				t.Errorf("%+v, %v", a.numbers, a.err)
			}
		}
		f.sail(1, 100)
		f.sail(2, 50)
		f.gets(patient, 50, 2)
		f.over()
	})
}

func TestSharedCallsThatFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFerry(t)
		refused := errors.New("refused")
		first := f.come(t.Context(), "s", 1)
		second, third := f.come(t.Context(), "s", 1), f.come(t.Context(), "s", 2)
		other := f.come(t.Context(), "other", 1) // has a call of its own
		calls := []ferryCall{<-f.calls, <-f.calls}
		if i := slices.IndexFunc(calls, func(c ferryCall) bool { return c.key.Sequence == "other" }); i < 0 {
			t.Fatalf("%+v", calls)
		} else {
			calls[i].answer <- ferryAnswer{numbers: run{5, 1}}
			calls[1-i].answer <- ferryAnswer{err: refused}
		}
		synctest.Wait()
		f.gets(other, 5, 1)
		if a := <-first; !errors.Is(a.err, refused) {
			t.Errorf("%+v, %v", a.numbers, a.err)
		}
		f.sail(3, 7)
		f.gets(second, 7, 1)
		f.gets(third, 4, 2)
		// A leader that does not answer holds a caller at most for the timeout.
		began := time.Now()
		if a := <-f.come(t.Context(), "s", 1); !errors.Is(a.err, context.DeadlineExceeded) || time.Since(began) != timeout {
			t.Errorf("%+v, %v after %v", a.numbers, a.err, time.Since(began))
		}
		f.over()
	})
}

// If the numbers are not enough for all callers, they may be enough for some.
func TestTheLastNumbersAreNotWithheld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFerry(t)
		first := f.come(t.Context(), "s", 1)
		a, b := f.come(t.Context(), "s", 3), f.come(t.Context(), "s", 3)
		f.sail(1, 10)
		f.gets(first, 10, 1)
		call := <-f.calls
		call.answer <- ferryAnswer{err: errExhausted}
		f.sail(3, 7)
		f.gets(a, 7, 3)
		call = <-f.calls
		call.answer <- ferryAnswer{err: errExhausted}
		if reply := <-b; !errors.Is(reply.err, errExhausted) {
			t.Errorf("%+v", reply)
		}
		f.over()
	})
}

// Callers that do not wait for their answers share calls with those that do. Each gets one outcome, at the end of its context at the
// latest.
func TestCallersThatDoNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFerry(t)
		begin := func(ctx context.Context, count uint64) <-chan ferryAnswer {
			reply := make(chan ferryAnswer, 2)
			f.Begin(ctx, Key{Sequence: "s"}, count, func(n run, err error) { reply <- ferryAnswer{n, err} })
			synctest.Wait()
			return reply
		}
		ctx, cancel := context.WithCancel(t.Context())
		first, aboard := begin(t.Context(), 2), begin(ctx, 5)
		waiting := f.come(t.Context(), "s", 1)
		f.sail(2, 100)
		f.gets(first, 100, 2)
		left := begin(ctx, 7)
		cancel()
		synctest.Wait()
		late := begin(ctx, 9)
		for _, reply := range []<-chan ferryAnswer{aboard, left, late} {
			if a := <-reply; !errors.Is(a.err, context.Canceled) {
				t.Errorf("%+v, %v, want the error of the context", a.numbers, a.err)
			}
		}
		f.sail(6, 50) // the first five are lost
		f.gets(waiting, 35, 1)
		f.over()
		for _, reply := range []<-chan ferryAnswer{first, aboard, left, late} {
			if len(reply) > 0 {
				t.Errorf("another outcome: %+v", <-reply)
			}
		}
	})
}
