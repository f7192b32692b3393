package allocator

import (
	"context"
	"errors"
	"fmt"
)

// Close ends the Sequence, then returns what is left of the last block that was
// granted, so that the cluster can grant it again; what is left of one before cannot
// be. A request for a block that is in progress is waited for until ctx is done, because its
// block would be skipped otherwise. No goroutine is left afterwards. The error says
// how many numbers were not returned: they stay unused. Further calls of Close
// wait for the first and return the same.
func (s *Sequence) Close(ctx context.Context) error {
	s.mu.Lock()
	if closed := s.closed; closed != nil {
		s.mu.Unlock()
		select {
		case <-closed:
			return s.err
		case <-ctx.Done():
			return interrupted(ctx, "closing")
		}
	}
	s.closed = make(chan struct{})
	rest := s.end()
	s.refuse(ErrClosed, func(*waiter) bool { return true })
	fetch := s.fetch
	s.mu.Unlock()

	if fetch != nil {
		stop := context.AfterFunc(ctx, fetch.cancel)
		<-fetch.done
		stop()
	}
	s.mu.Lock()
	rest, unused := s.lastTail(rest)
	s.mu.Unlock()

	var err error
	if unused > 0 {
		err = s.giveBack(ctx, rest.token, unused)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		unused = 0
	}
	s.ledger.stats.Skipped += rest.count - unused
	if err != nil && !errors.Is(err, ErrNotLastBlock) {
		s.err = fmt.Errorf("the last %d numbers of sequence %q were not returned and stay unused: %w", rest.count, s.cfg.Name, err)
	}
	close(s.closed)
	return s.err
}

// Return forgets the cached blocks and returns what is left of the last one that
// was granted, if it can be: the cluster may then grant the same numbers again. The error says why
// not; what is left stays unused then.
func (s *Sequence) Return(ctx context.Context) error {
	s.mu.Lock()
	rest, unused := s.lastTail(s.end())
	s.ledger.stats.Skipped += rest.count
	s.ledger.rewind()
	s.mu.Unlock()
	if unused == 0 {
		return nil
	}
	if err := s.giveBack(ctx, rest.token, unused); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ledger.stats.Skipped -= unused
	return nil
}

// tail is the rest of a block: count numbers, of which granted at most are of
// the grant with the token.
type tail struct{ token, count, granted uint64 }

// end closes the current block and returns what is left of it. The lock is held.
func (s *Sequence) end() tail {
	b := s.current.Load()
	if b == nil {
		return tail{}
	}
	taken := s.retire(b)
	s.current.Store(nil)
	return tail{b.Token, b.Count - taken, b.granted}
}

// lastTail takes the next block, if there is one, for what is left: it was granted after
// the current one, which left rest, and those are skipped. unused is how many numbers can be
// returned: those of the last grant, or 0 if it is known that another came after it. The
// lock is held.
func (s *Sequence) lastTail(rest tail) (last tail, unused uint64) {
	if s.next != nil {
		s.ledger.stats.Skipped += rest.count
		rest = tail{s.next.Token, s.next.Count, s.next.granted}
		s.next = nil
	}
	if rest.token != s.ledger.token {
		return rest, 0
	}
	return rest, min(rest.count, rest.granted)
}

// giveBack returns the unused numbers at the end of a block.
func (s *Sequence) giveBack(ctx context.Context, token, unused uint64) error {
	if ctx.Err() != nil {
		return interrupted(ctx, "closing")
	}
	call, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return s.cfg.Granter.ReturnBlock(call, s.cfg.Name, token, unused, s.cfg.Key)
}
