package allocator

import (
	"context"
	"errors"
	"fmt"
)

// Close stops issuing, then returns the rest of the last granted block, so that the cluster can grant it again.
// The rest of an earlier block cannot be returned. Close waits until ctx is done for a request for a block that
// is in progress, because the block would be skipped otherwise. Afterwards no goroutine is left. The error
// reports how many numbers were not returned: they stay unused. Further calls of Close wait for the first call,
// at most until their ctx is done, and return the same error.
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

// Return drops the cached blocks and returns the rest of the last granted block, if the cluster accepts it: the
// cluster may then grant the same numbers again. The error is the reason that the rest was not returned; the
// rest stays unused then.
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

// tail is the rest of a block: count numbers, of which at most granted belong to the grant with the token.
type tail struct{ token, count, granted uint64 }

// end closes the current block and returns its rest. Requires s.mu.
func (s *Sequence) end() tail {
	b := s.current.Load()
	if b == nil {
		return tail{}
	}
	taken := s.retire(b)
	s.current.Store(nil)
	return tail{b.Token, b.Count - taken, b.granted}
}

// lastTail returns the rest of the last block, given the rest of the current one. If there is a next block, it
// was granted later: lastTail returns all of it, and skips the rest of the current block. unused is how many
// numbers can be returned: those of the last grant, or 0 if another grant is known to have followed. Requires
// s.mu.
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
