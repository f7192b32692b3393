package member

import (
	"context"
	"fmt"
	"sync"

	"github.com/snowraft/snowraft/allocator"
	"github.com/snowraft/snowraft/cluster"
)

// strictSequence is one strict sequence during a leader's term, or the requests with an ID for a
// relaxed sequence. It is the allocator.BlockGranter of its own numbers.
type strictSequence struct {
	name        string
	incarnation uint64
	lt          *leaderTerm
	numbers     *allocator.Sequence

	mu   sync.Mutex
	gave lastIssued
}

// lastIssued is the last number that was issued. before orders by time.
type lastIssued struct {
	known      bool
	generation uint64
	period     int32
	number     int64
	increment  int64
}

func (p lastIssued) before(q lastIssued) bool {
	switch {
	case p.generation != q.generation:
		return p.generation < q.generation
	case p.known != q.known:
		return q.known
	case p.period != q.period:
		return p.period < q.period
	case q.increment < 0:
		return q.number < p.number
	default:
		return p.number < q.number
	}
}

// advance notes a number that is issued.
func (s *strictSequence) advance(p lastIssued) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gave.before(p) {
		s.gave = p
	}
}

func last(n allocator.Numbers) lastIssued {
	return lastIssued{known: true, generation: n.Generation, period: n.Period, number: n.Number(n.Count - 1), increment: n.Increment}
}

func (s *strictSequence) next(ctx context.Context, count uint64) (allocator.Numbers, error) {
	n, err := s.numbers.Next(ctx, count)
	if err != nil {
		return n, s.lt.m.short(s.name, s.numbers, err)
	}
	if err := s.lt.confirm(ctx); err != nil {
		return n, err // the numbers are lost
	}
	s.advance(last(n))
	return n, nil
}

// record answers a request that has an ID through the log.
func (s *strictSequence) record(ctx context.Context, count uint64, requestID string) (Numbering, error) {
	// The numbers left in memory come before those of this request, so they cannot be issued
	// after them; if the block cannot be returned either, it is skipped.
	_ = s.numbers.Return(ctx)
	block, granted, err := s.lt.m.allocateBlock(ctx, s.name, count, blockOf{requestID: requestID}, s.checkDefinition)
	if err != nil {
		return Numbering{}, err
	}
	if err := s.lt.current(); err != nil {
		// The present term does not know of these numbers; a repetition finds them.
		return Numbering{}, fmt.Errorf("%w: %w", cluster.ErrUnknownOutcome, err)
	}
	// The same applies to numbers that were granted meanwhile.
	s.numbers.DropBefore(granted.index)
	s.advance(last(block.Numbers))
	return granted.definition.numbering(block.Numbers, granted.atMillis)
}

// last returns the last number that was issued by any member.
func (s *strictSequence) last(ctx context.Context) (number int64, ok bool, err error) {
	if err := s.checkDefinition(nil); err != nil {
		return 0, false, err
	}
	if now, ok := s.lt.m.fsm.Sequence(s.name); ok {
		if _, _, err := now.LastGranted(); err != nil {
			return 0, false, err
		}
	}
	s.mu.Lock()
	gave := s.gave
	s.mu.Unlock()
	if err := s.lt.confirm(ctx); err != nil {
		return 0, false, err
	}
	return gave.number, gave.known, nil
}

// checkDefinition is called before each proposal of a block. It refuses if the sequence was deleted and created again, because the blocks
// of that incarnation belong to another strictSequence. After the term began, and after the sequence was
// changed, all granted numbers count as issued, because none of them was granted to this leader.
func (s *strictSequence) checkDefinition(*definition) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, ok := s.lt.m.fsm.Sequence(s.name)
	if !ok {
		return &UnknownSequenceError{Sequence: s.name} // sequence existed when the call began
	}
	if now.Incarnation != s.incarnation {
		return outdated(s.name)
	}
	if s.gave.generation < now.Numbering {
		s.gave = lastIssued{known: now.HasLast, generation: now.Numbering, period: now.Period, number: now.Last, increment: now.Spec.GetIncrement()}
	}
	return nil
}

// AllocateBlock implements allocator.BlockGranter.
func (s *strictSequence) AllocateBlock(ctx context.Context, _ string, count uint64, key allocator.ReturnKey) (allocator.Block, error) {
	block, _, err := s.lt.m.allocateBlock(ctx, s.name, count, blockOf{keyHash: hashOf(key)}, s.checkDefinition)
	return block, err
}

// ReturnBlock implements allocator.BlockGranter.
func (s *strictSequence) ReturnBlock(ctx context.Context, _ string, token, unused uint64, key allocator.ReturnKey) error {
	// A later term counts all of the block as issued, and this one may end before the log has the command.
	return s.lt.m.returnBlock(ctx, s.name, token, unused, s.lt.term, key)
}
