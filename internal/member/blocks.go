package member

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/snowraft/snowraft/internal/limits"
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"

	"github.com/snowraft/snowraft/allocator"
	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/sequence"
)

// AllocateBlock grants the next numbers of a relaxed sequence; only the leader can. A request for
// more than the sequence's blocks have, or one call may want, gets a block of that size: no caller uses up a
// sequence in one call.
func (m *Member) AllocateBlock(ctx context.Context, name string, count uint64, key allocator.ReturnKey) (allocator.Block, error) {
	return m.allocateRelaxed(ctx, name, count, blockOf{keyHash: hashOf(key)})
}

// AllocateBlockOnce is AllocateBlock of a block that can't be returned, with the same answer when it is repeated with
// the same request ID, if that is not empty; then requesting too many is refused.
func (m *Member) AllocateBlockOnce(ctx context.Context, name string, count uint64, requestID string) (allocator.Block, error) {
	return m.allocateRelaxed(ctx, name, count, blockOf{requestID: requestID})
}

// blockOf is the owner of a block: a process that may return it, or a request that may be repeated; neither for
// a block that is just granted.
type blockOf struct {
	keyHash   []byte
	requestID string
}

func (m *Member) allocateRelaxed(ctx context.Context, name string, count uint64, of blockOf) (allocator.Block, error) {
	if count == 0 {
		return allocator.Block{}, fmt.Errorf("%w: block of 0 numbers: expected at least 1", allocator.ErrInvalidArgument)
	}
	block, _, err := m.allocateBlock(ctx, name, count, of, func(d *definition) error {
		if d.strict {
			return ErrStrict
		}
		return nil
	})
	return block, err
}

// grantedBlock is a block, and what the log says of how it was granted.
type grantedBlock struct {
	definition *definition
	index      uint64 // of the command that was answered with the block, not always the one that granted it
	atMillis   int64  // as in fsm.BlockGrant
}

// allocateBlock proposes a block. The sequence may change between looking at it and the commit:
// then the state machine refuses, and it is looked at again. prepare, which may refuse, is called
// after each look and before the proposal.
func (m *Member) allocateBlock(ctx context.Context, name string, count uint64, of blockOf, prepare func(*definition) error) (allocator.Block, grantedBlock, error) {
	for look := 1; ; look++ {
		s, err := m.Sequence(ctx, name)
		if err != nil {
			return allocator.Block{}, grantedBlock{}, err
		}
		d, err := define(s.Spec, s.Generation)
		if err != nil {
			return allocator.Block{}, grantedBlock{}, err
		}
		if err := prepare(d); err != nil {
			return allocator.Block{}, grantedBlock{}, err
		}
		most := max(s.Spec.GetMaxBlock(), limits.Count)
		if count > most && of.requestID != "" {
			return allocator.Block{}, grantedBlock{}, fmt.Errorf("%w: block of %d numbers: expected at most %d", allocator.ErrInvalidArgument, count, most)
		}
		now := m.clock.Now().Wall
		if d.reset != sequence.ResetNone || of.requestID != "" { // its period, or the time of the remembered answer, lasts
			if now, err = m.comparedNow(); err != nil {
				return allocator.Block{}, grantedBlock{}, err
			}
		}
		result, err := m.propose(ctx, now, &commandv1.Command{Body: &commandv1.Command_AllocateBlock{AllocateBlock: &commandv1.AllocateBlock{
			Name: name, Count: min(count, most), Generation: s.Generation, Period: d.period(now),
			RequestId: []byte(of.requestID), Whole: of.requestID != "", ReturnKeyHash: of.keyHash,
		}}})
		if lookAgain(err, look) {
			continue
		}
		if err != nil {
			return allocator.Block{}, grantedBlock{}, m.unknown(name, err)
		}
		b, spec := result.Block, s.Spec
		return allocator.Block{
			Token: b.Token,
			Numbers: allocator.Numbers{First: b.First, Count: b.Count, Increment: b.Increment,
				Generation: b.Generation, Period: b.Period, PeriodEnd: d.periodEnd(b.Period)},
			Duration: time.Duration(spec.GetBlockDurationMs()) * time.Millisecond, MinCount: spec.GetMinBlock(), MaxCount: spec.GetMaxBlock(),
		}, grantedBlock{definition: d, index: result.Index, atMillis: b.AtMillis}, nil
	}
}

// ReturnBlock gives the unused end of a relaxed sequence's block back, if it is the last and was allocated with that
// key; only the leader can.
func (m *Member) ReturnBlock(ctx context.Context, name string, token, unused uint64, key allocator.ReturnKey) error {
	c, err := m.Counter(ctx, name)
	if err != nil {
		return err
	}
	if c.Strict() {
		return ErrStrict
	}
	return m.returnBlock(ctx, name, token, unused, 0, key)
}

// returnBlock proposes a return that has an effect only in a leader term, if that is not 0.
func (m *Member) returnBlock(ctx context.Context, name string, token, unused, term uint64, key allocator.ReturnKey) error {
	_, err := m.propose(ctx, m.clock.Now().Wall, &commandv1.Command{Body: &commandv1.Command_ReturnBlock{ReturnBlock: &commandv1.ReturnBlock{
		Name: name, Token: token, Unused: unused, Term: term, ReturnKeyHash: hashOf(key),
	}}})
	if refusedFor(err, commandv1.Refusal_REFUSAL_NOT_LAST_BLOCK) {
		return allocator.ErrNotLastBlock
	}
	return m.unknown(name, err)
}

// unknown makes the refusal of an unknown sequence the same error everywhere.
func (m *Member) unknown(name string, err error) error {
	if refusedFor(err, commandv1.Refusal_REFUSAL_UNKNOWN_SEQUENCE) {
		return m.unknownSequence(name)
	}
	return err
}

// looks is the number of times that a sequence is looked up for a call that finds it changed each time.
const looks = 4

// lookAgain reports whether a command was refused because its sequence was changed after the
// look, of that number from 1, that it rests on: then another is worth it, up to the last.
func lookAgain(err error, look int) bool {
	return look < looks && refusedFor(err, commandv1.Refusal_REFUSAL_GENERATION_MISMATCH)
}

func refusedFor(err error, reason commandv1.Refusal) bool {
	return errors.Is(err, &fsm.Refused{Reason: reason})
}
