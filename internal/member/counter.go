package member

import (
	"context"
	"errors"
	"fmt"

	"github.com/snowraft/snowraft/allocator"
	"github.com/snowraft/snowraft/cluster"
	"github.com/snowraft/snowraft/fsm"
)

// Counter is a sequence as this member knew it at the lookup, and this member's own numbers of
// the sequence.
type Counter struct {
	m          *Member
	name       string
	own        *counter
	definition *definition
}

// Counter returns a sequence. It fails with an [UnknownSequenceError] or, while this member cannot
// decide whether the sequence exists, with [ErrNoLeader].
func (m *Member) Counter(ctx context.Context, name string) (Counter, error) {
	c, err := m.counterHere(name)
	if !errors.Is(err, errNotHere) {
		return c, err
	}
	if err := m.settleSequence(ctx, name); err != nil {
		return c, err
	}
	if c, err = m.counterHere(name); errors.Is(err, errNotHere) {
		err = m.unknownSequence(ctx, name)
	}
	return c, err
}

// Strict reports whether the leader issues the numbers; see [Member.NextAtLeader].
func (c Counter) Strict() bool { return c.definition.strict }

// KnownStrict reports whether this member's replica has the sequence, as a strict one. It does not wait.
func (m *Member) KnownStrict(name string) bool {
	c, err := m.counterHere(name)
	return err == nil && c.Strict()
}

// errNotHere reports that this member's replica does not have a sequence, which may exist anyway.
var errNotHere = errors.New("this member does not know the sequence")

// counterHere returns a sequence of this member's replica, or errNotHere. It does not wait.
func (m *Member) counterHere(name string) (Counter, error) {
	// The revision is read before the sequence, so that a change in between makes the next call read the sequence again.
	revision := m.fsm.SequenceRevision().Load()
	c := m.counters.get(name)
	if c != nil {
		if k := c.known.Load(); k.revision == revision {
			return Counter{m, name, c, k.definition}, nil
		}
	}
	if c != nil {
		// Most revisions are changes of other sequences. The numbering is the log index of the last change of the definition.
		k := c.known.Load()
		if numbering, _, ok := m.fsm.SequenceStamp(name); ok && numbering == k.definition.generation {
			c.known.Store(&known{revision: revision, definition: k.definition})
			return Counter{m, name, c, k.definition}, nil
		}
	}
	s, ok := m.fsm.Sequence(name)
	if !ok {
		if c != nil {
			m.counters.remove(name, m.exists)
		}
		return Counter{}, errNotHere
	}
	d, err := m.define(s)
	if err != nil {
		return Counter{}, err
	}
	k := &known{revision: revision, definition: d}
	c, err = m.counters.add(name, k, func() *allocator.Sequence { return m.openSequence(name, leaderGranter{m}) })
	return Counter{m, name, c, d}, err
}

func (m *Member) openSequence(name string, g allocator.BlockGranter) *allocator.Sequence {
	var first uint64
	if s, ok := m.fsm.Sequence(name); ok {
		const usual = 100
		first = max(s.Spec.GetMinBlock(), min(usual, s.Spec.GetMaxBlock()))
	}
	return allocator.OpenSequence(allocator.SequenceConfig{
		Name: name, Granter: g, Key: m.key, Clock: m.clock.Now,
		Revision:   m.fsm.SequenceRevision(),
		Current:    func() (uint64, int32, bool) { return m.fsm.SequenceStamp(name) },
		FirstBlock: first,
		Wait:       m.waits(),
		Logger:     m.logger,
		Events:     m.events,
	})
}

// SequenceStats returns the counts of this member's work with blocks, summed over all relaxed sequences.
func (m *Member) SequenceStats() allocator.SequenceStats { return m.counters.stats() }

// Sequence returns a sequence as this member's replica has it. It fails with an [UnknownSequenceError]
// or, while this member cannot decide whether the sequence exists, with [ErrNoLeader].
func (m *Member) Sequence(ctx context.Context, name string) (fsm.Sequence, error) {
	if s, ok := m.fsm.Sequence(name); ok {
		return s, nil
	}
	if err := m.settleSequence(ctx, name); err != nil {
		return fsm.Sequence{}, err
	}
	if s, ok := m.fsm.Sequence(name); ok {
		return s, nil
	}
	return fsm.Sequence{}, m.unknownSequence(ctx, name)
}

// Next issues the next count numbers of a relaxed sequence from this member's blocks, and waits for a block if
// necessary. It fails with [ErrStrict] if the sequence is strict, even while only the leader knows that it has become
// strict, and with [allocator.ErrOutdatedBlock] if the sequence changed during the call.
func (c Counter) Next(ctx context.Context, count uint64) (Numbering, error) {
	if c.Strict() {
		return Numbering{}, ErrStrict
	}
	if c.definition.gapless {
		return Numbering{}, fsm.RefuseGapless(c.name)
	}
	if err := c.definition.checkCount(count); err != nil {
		return Numbering{}, err
	}
	if err := c.m.clock.Stopped(); err != nil {
		return Numbering{}, err
	}
	n, err := c.own.numbers().Next(ctx, count)
	if err != nil {
		return Numbering{}, c.m.short(c.name, c.own.numbers(), err)
	}
	return c.written(ctx, n)
}

// written returns numbers that were issued now, with their format.
func (c Counter) written(ctx context.Context, n allocator.Numbers) (Numbering, error) {
	if n.Generation > c.definition.generation {
		// The sequence was changed while the call waited. The generation is the log index of the change,
		// which this replica may not have applied.
		if err := c.m.fsm.AwaitApplied(ctx, n.Generation); err != nil {
			return Numbering{}, err
		}
		now, err := c.m.Counter(ctx, c.name)
		if err != nil {
			return Numbering{}, err
		}
		if now.own != c.own {
			return Numbering{}, outdated(c.name) // the other counter may have issued later numbers
		}
		c = now
	}
	if n.Generation != c.definition.generation {
		return Numbering{}, outdated(c.name)
	}
	return c.definition.numbering(n, c.m.clock.Now().Wall)
}

// outdated returns the error of a call whose sequence changed, so that its numbers could follow later ones.
func outdated(name string) error {
	return fmt.Errorf("sequence %q: %w", name, allocator.ErrOutdatedBlock)
}

// TryNext issues the next count numbers of a relaxed sequence if this member's blocks have them now; it
// does not wait. If ok is false, it issued no numbers, and [Counter.Next] returns the reason.
func (m *Member) TryNext(name string, count uint64) (n Numbering, ok bool) {
	if m.counters.get(name) == nil || m.clock.Stopped() != nil {
		return Numbering{}, false // not used yet, or unknown; the error of an unknown sequence is expensive
	}
	c, err := m.counterHere(name)
	if err != nil || c.Strict() || c.definition.checkCount(count) != nil {
		return Numbering{}, false
	}
	numbers, ok := c.own.numbers().TryNext(count)
	if !ok || numbers.Generation != c.definition.generation {
		return Numbering{}, false
	}
	n, err = c.definition.numbering(numbers, m.clock.Now().Wall)
	return n, err == nil
}

// Last returns the last number of a relaxed sequence that this member issued. As long as this member
// has issued none, Last returns the last number that was granted to any member. It fails as Next does.
func (c Counter) Last(ctx context.Context) (last int64, ok bool, err error) {
	if c.Strict() {
		return 0, false, ErrStrict
	}
	if last, ok := c.own.numbers().Last(); ok {
		return last, true, nil
	}
	s, err := c.m.Sequence(ctx, c.name)
	if err != nil {
		return 0, false, err
	}
	return s.LastGranted()
}

// NextAtLeader issues the next count numbers of a sequence; only the leader can, other
// members fail with [cluster.ErrNotLeader]. The numbers of a strict sequence are greater
// (with a negative increment: smaller) than all numbers that were issued before the call.
// A repetition with the same request ID, if it is not empty, gets the same numbers.
func (m *Member) NextAtLeader(ctx context.Context, name string, count uint64, requestID string) (Numbering, error) {
	for look := 1; ; look++ {
		n, err := m.nextAtLeader(ctx, name, count, requestID)
		if !errors.Is(err, ErrStrict) || look == looks {
			return n, err
		} // the sequence became strict after the lookup
	}
}

func (m *Member) nextAtLeader(ctx context.Context, name string, count uint64, requestID string) (Numbering, error) {
	lt := m.leaderTerm.Load()
	if lt == nil {
		return Numbering{}, cluster.ErrNotLeader
	}
	if err := m.clock.Stopped(); err != nil {
		return Numbering{}, err
	}
	c, err := m.Counter(ctx, name)
	if err == nil {
		err = c.definition.checkCount(count)
	}
	switch {
	case err != nil:
		return Numbering{}, err
	case requestID != "":
		return lt.sequence(name, c.definition.incarnation).record(ctx, count, requestID)
	case !c.Strict():
		return c.Next(ctx, count)
	}
	n, err := lt.sequence(name, c.definition.incarnation).next(ctx, count)
	if err != nil {
		return Numbering{}, err
	}
	return c.written(ctx, n)
}

// LastAtLeader returns the last issued number of a sequence: by any member if the
// sequence is strict, otherwise as [Counter.Last] does. Only the leader can.
func (m *Member) LastAtLeader(ctx context.Context, name string) (last int64, ok bool, err error) {
	lt := m.leaderTerm.Load()
	if lt == nil {
		return 0, false, cluster.ErrNotLeader
	}
	c, err := m.Counter(ctx, name)
	switch {
	case err != nil:
		return 0, false, err
	case !c.Strict():
		return c.Last(ctx)
	}
	return lt.sequence(name, c.definition.incarnation).last(ctx)
}
