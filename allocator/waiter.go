package allocator

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/snowraft/snowraft/internal/clock"
)

// waiter is a call that no block could serve. Guarded by the Sequence's lock until done is closed; afterwards
// only the call reads it.
type waiter struct {
	count   uint64
	asked   bool // a request in progress is also for this call
	short   int  // requests for this call that returned fewer numbers
	done    chan struct{}
	numbers Numbers
	err     error
}

// await serves a call of Next that the fast path could not serve.
func (s *Sequence) await(ctx context.Context, count uint64) (Numbers, error) {
	if count == 0 {
		return Numbers{}, errNoCount
	}
	if ctx.Err() != nil {
		return Numbers{}, interrupted(ctx, "starting")
	}
	s.mu.Lock()
	if s.closed != nil {
		s.mu.Unlock()
		return Numbers{}, ErrClosed
	}
	s.refresh()
	now := s.cfg.Clock()
	if n, ok := s.serve(count, now); ok {
		s.pace(now)
		s.mu.Unlock()
		return n, nil
	}
	w := &waiter{count: count, done: make(chan struct{})}
	s.waiting = append(s.waiting, w)
	s.ledger.stats.Waited++
	values, done := s.cfg.Wait.observe(ctx)
	if s.fetch == nil {
		s.request(values)
	}
	s.mu.Unlock()
	n, err := s.served(ctx, w)
	if values != nil {
		done(err)
	}
	return n, err
}

// served waits until a waiter is served or ctx ends.
func (s *Sequence) served(ctx context.Context, w *waiter) (Numbers, error) {
	select {
	case <-w.done:
		return w.numbers, w.err
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if k := slices.Index(s.waiting, w); k >= 0 {
		s.waiting = slices.Delete(s.waiting, k, k+1)
		return Numbers{}, interrupted(ctx, fmt.Sprintf("waiting for a block of sequence %q", s.cfg.Name))
	}
	return w.numbers, w.err // served at the same moment
}

// serveWaiting serves the waiting calls that can be served, in the order of their arrival. Requires s.mu.
func (s *Sequence) serveWaiting(now clock.Reading) {
	s.settle(func(w *waiter) (ok bool) {
		w.numbers, ok = s.serve(w.count, now)
		return ok
	})
}

// refuse ends the waiting calls for which whom returns true, with an error. Requires s.mu.
func (s *Sequence) refuse(err error, whom func(*waiter) bool) {
	s.settle(func(w *waiter) bool {
		if !whom(w) {
			return false
		}
		w.err = err
		return true
	})
}

// settle wakes and removes the waiting calls for which through returns true. Requires s.mu.
func (s *Sequence) settle(through func(*waiter) bool) {
	s.waiting = slices.DeleteFunc(s.waiting, func(w *waiter) bool {
		if !through(w) {
			return false
		}
		close(w.done)
		return true
	})
	if len(s.waiting) == 0 {
		s.waiting = nil // releases the memory of many calls
	}
}

// wanted returns how many numbers the waiting calls want together, and how many the largest of them wants.
// Requires s.mu.
func (s *Sequence) wanted() (sum, most uint64) {
	for _, w := range s.waiting {
		if sum += w.count; sum < w.count {
			sum = math.MaxUint64
		}
		most = max(most, w.count)
	}
	return sum, most
}
