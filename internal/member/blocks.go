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

// AllocateBlock grants the next numbers of a relaxed sequence; only the leader can. The size of the block is at most the
// greatest block size of the sequence or the greatest count of a call, whichever is larger. So no caller uses up a
// sequence with a single request.
func (m *Member) AllocateBlock(ctx context.Context, name string, count uint64, key allocator.ReturnKey) (allocator.Block, error) {
	return m.allocateRelaxed(ctx, name, count, blockOf{keyHash: hashOf(key)})
}

// AllocateBlockOnce is AllocateBlock for a block that cannot be returned. If requestID is not empty, a repetition with
// the same request ID gets the same block, and a request for too many numbers is refused.
func (m *Member) AllocateBlockOnce(ctx context.Context, name string, count uint64, requestID string) (allocator.Block, error) {
	return m.allocateRelaxed(ctx, name, count, blockOf{requestID: requestID})
}

// blockOf is the owner of a block: a process that may return it, or a request that may be repeated or names a period. It is
// empty for a block that has neither.
type blockOf struct {
	keyHash   []byte
	requestID string
	period    string // see PeriodRequest, as is from
	from      *int64
}

// whole reports whether the owner has no use for a shorter block.
func (of blockOf) whole() bool { return of.requestID != "" || of.period != "" }

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

// grantedBlock holds the circumstances of a granted block.
type grantedBlock struct {
	definition *definition
	index      uint64 // log index of the command that returned the block; for a repetition, not the one that granted it
	atMillis   int64  // see fsm.BlockGrant
}

// allocateBlock proposes a block. If the sequence changes between the look at it and the commit, the
// state machine refuses, and allocateBlock looks again. prepare, which may refuse, is called after
// each look and before the proposal.
func (m *Member) allocateBlock(ctx context.Context, name string, count uint64, of blockOf, prepare func(*definition) error) (allocator.Block, grantedBlock, error) {
	for look := 1; ; look++ {
		s, err := m.Sequence(ctx, name)
		if err != nil {
			return allocator.Block{}, grantedBlock{}, err
		}
		d, err := m.define(s)
		if err != nil {
			return allocator.Block{}, grantedBlock{}, err
		}
		if d.gapless {
			return allocator.Block{}, grantedBlock{}, fsm.RefuseGapless(name)
		}
		if err := prepare(d); err != nil {
			return allocator.Block{}, grantedBlock{}, err
		}
		most := max(s.Spec.GetMaxBlock(), limits.Count)
		if count > most && of.whole() {
			return allocator.Block{}, grantedBlock{}, fmt.Errorf("%w: block of %d numbers: expected at most %d", allocator.ErrInvalidArgument, count, most)
		}
		now := m.clock.Now().Wall
		if d.calendar.Reset != sequence.ResetNone || of.requestID != "" { // the time decides a period or the age of an answer
			if now, err = m.comparedNow(); err != nil {
				return allocator.Block{}, grantedBlock{}, err
			}
		}
		only := int32(0)
		if of.period != "" {
			if only, err = d.readPeriod(of.period); err != nil {
				return allocator.Block{}, grantedBlock{}, err
			}
		}
		result, err := m.propose(ctx, now, &commandv1.Command{Body: &commandv1.Command_AllocateBlock{AllocateBlock: &commandv1.AllocateBlock{
			Name: name, Count: min(count, most), Generation: s.Generation, Period: d.period(now),
			RequestId: []byte(of.requestID), Whole: of.whole(), ReturnKeyHash: of.keyHash,
			OnlyPeriod: only, OpenFrom: d.openFrom(now, m.fsm.Observed().Load()), From: of.from,
		}}})
		if lookAgain(err, look) {
			continue
		}
		if err != nil {
			return allocator.Block{}, grantedBlock{}, m.unknown(ctx, name, err)
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

// ReturnBlock returns the unused end of a relaxed sequence's block, if the block is the last one and was allocated with
// that key; only the leader can.
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

// returnBlock proposes a return of a block. If term is not 0, the return has an effect only in that leader term.
func (m *Member) returnBlock(ctx context.Context, name string, token, unused, term uint64, key allocator.ReturnKey) error {
	_, err := m.propose(ctx, m.clock.Now().Wall, &commandv1.Command{Body: &commandv1.Command_ReturnBlock{ReturnBlock: &commandv1.ReturnBlock{
		Name: name, Token: token, Unused: unused, Term: term, ReturnKeyHash: hashOf(key),
	}}})
	if refusedFor(err, commandv1.Refusal_REFUSAL_NOT_LAST_BLOCK) {
		return allocator.ErrNotLastBlock
	}
	return m.unknown(ctx, name, err)
}

// unknown replaces the refusal of an unknown sequence by an [UnknownSequenceError]; other errors stay.
func (m *Member) unknown(ctx context.Context, name string, err error) error {
	if refusedFor(err, commandv1.Refusal_REFUSAL_UNKNOWN_SEQUENCE) {
		return m.unknownSequence(ctx, name)
	}
	return err
}

// looks is the greatest number of attempts of a call whose sequence changes before each commit.
const looks = 4

// lookAgain reports whether a call must look at its sequence again: the command was refused because
// the sequence was changed after the look, and the look, counted from 1, was not the last one.
func lookAgain(err error, look int) bool {
	return look < looks && refusedFor(err, commandv1.Refusal_REFUSAL_GENERATION_MISMATCH)
}

func refusedFor(err error, reason commandv1.Refusal) bool {
	return errors.Is(err, &fsm.Refused{Reason: reason})
}
