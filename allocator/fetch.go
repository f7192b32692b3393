package allocator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/snowraft/snowraft/internal/clock"
	"github.com/snowraft/snowraft/internal/events"
)

const (
	// maxTries is the number of blocks in a row that may be outdated, or too short for a caller, before the
	// caller gets an error.
	maxTries = 3
	// askAgain is the interval, in milliseconds, of requests to the cluster while a period has ended by this
	// process's clock but not by the cluster's.
	askAgain = 100
)

// fetch is a request for a block in progress, or several such requests in a row.
type fetch struct {
	cancel func() // cancels the call
	done   chan struct{}
}

// request starts a request for a block. All waiting callers share it, and each waits for it with its own
// context. values holds the context values of the caller that starts it; nil for none. Requires s.mu and no
// request in progress.
func (s *Sequence) request(values context.Context) {
	ctx, cancel := context.WithCancel(withValues(context.Background(), values))
	f := &fetch{cancel: cancel, done: make(chan struct{})}
	s.fetch = f
	go func() {
		defer cancel()
		for tries := 1; s.ask(ctx, &tries); {
		}
		close(f.done)
	}()
}

// ask requests one block, and reports whether to request another at once.
func (s *Sequence) ask(ctx context.Context, tries *int) (again bool) {
	s.mu.Lock()
	asked := s.cfg.Clock()
	if b := s.current.Load(); b != nil {
		s.pacer.measure(asked.Mono, s.ledger.stats.Taken+b.taken())
	}
	sum, most := s.wanted()
	count := s.pacer.ask(asked.Mono, sum, most)
	for _, w := range s.waiting {
		w.asked = true
	}
	s.mu.Unlock()

	call, cancel := context.WithTimeout(ctx, callTimeout)
	block, err := s.cfg.Granter.AllocateBlock(call, s.cfg.Name, count, s.cfg.Key)
	cancel()

	s.mu.Lock()
	defer s.mu.Unlock()
	s.refresh()
	now := s.cfg.Clock()
	b := newStock(block)
	if err == nil && (!plausible(block) || !s.ledger.follows(b)) {
		err = fmt.Errorf("block of sequence %q ignored, because it is impossible: token %d, %d numbers from %d by %d", s.cfg.Name, b.Token, b.Count, b.First, b.Increment)
	}
	if err == nil {
		s.ledger.token = b.Token
		s.ledger.stats.Blocks++
		if s.ledger.outdated(b) {
			s.ledger.stats.Skipped += b.Count
			if s.ledger.overtaken(b) && s.closed == nil && len(s.waiting) > 0 {
				return true // the next block may arrive in time, and no caller waits longer than its context
			}
			if *tries++; *tries <= maxTries && s.closed == nil {
				return true
			}
			err = fmt.Errorf("sequence %q: %w", s.cfg.Name, ErrOutdatedBlock)
		}
	}
	*tries = 1
	if err != nil {
		s.failed(err, now)
	} else {
		if s.pacer.failures > 0 {
			s.cfg.Logger.Info("blocks are granted again", "sequence", s.cfg.Name)
			s.cfg.Events.Note(events.Window, slog.LevelInfo, "blocks of sequences granted again")
		}
		s.pacer.granted(block, now.Mono-asked.Mono)
		s.accept(b, asked, now)
	}
	if s.closed == nil && len(s.waiting) > 0 {
		return true
	}
	s.fetch = nil
	s.pace(now)
	return false
}

// failed records that no block was granted, and refuses the waiting callers that the request was for. If the cluster was set
// back in time, it drops the blocks in memory. Requires s.mu.
func (s *Sequence) failed(err error, now clock.Reading) {
	if s.pacer.failed(now.Mono) && !errors.Is(err, ErrClosed) {
		s.cfg.Logger.Warn("block not granted; retrying when numbers are requested", "sequence", s.cfg.Name, "error", err)
		// The text omits the name: thousands of sequences fail for one reason, and make one event.
		s.cfg.Events.Note(events.Window, slog.LevelWarn, "blocks of sequences not granted; retrying when numbers are requested")
	}
	if errors.Is(err, ErrSetBack) { // another process may hold the same numbers
		s.skip(func(*stock) bool { return true })
	}
	s.refuse(err, func(w *waiter) bool { return w.asked })
}

// accept stores a granted block and serves the waiting callers. asked is the time of the request for the block.
// Requires s.mu.
func (s *Sequence) accept(b *stock, asked, now clock.Reading) {
	s.ledger.accepted(b)
	s.dropOutdated()
	if b.PeriodEnd != 0 && asked.Wall >= b.PeriodEnd {
		s.lenient.Store(now.Mono + askAgain) // the cluster granted it anyway, and its clock decides
	}
	switch {
	case s.next == nil:
		s.next = b
	case b.continues(s.next):
		s.next = s.next.joined(0, b)
	default:
		// There is no room for a third block. It was requested because a caller wants more numbers than the
		// next block has, or because a period did not end.
		s.serveWaiting(now)
		if s.next != nil && s.closed == nil && (len(s.waiting) == 0 || s.waiting[0].count > b.Count) {
			s.ledger.stats.Skipped += b.Count
			break
		}
		s.skip(func(*stock) bool { return true })
		s.next = b
	}
	if s.closed != nil {
		return
	}
	s.serveWaiting(now)
	for _, w := range s.waiting {
		if w.asked && b.Count < w.count {
			w.short++
		}
	}
	s.refuse(fmt.Errorf("sequence %q: the cluster granted blocks of %d numbers, fewer than one call requested; request fewer numbers, or raise the largest block size", s.cfg.Name, b.Count),
		func(w *waiter) bool { return w.short >= maxTries })
}
