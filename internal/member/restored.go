package member

import (
	"context"
	"fmt"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"

	"github.com/snowraft/snowraft/fsm"
)

// ResumeSequence ends the freeze of a sequence, or of a deleted one, after a restore; only the leader can. after is the
// last number that the earlier cluster may have granted; nil for the last number in the backup. The margin numbers that
// follow it are skipped. The error is a [GenerationError] if the sequence does not have the expected generation; nil
// accepts any. With a period in the notation of the sequence's calendar, ResumeSequence ends the freeze of that period, which ended.
func (m *Member) ResumeSequence(ctx context.Context, name string, after *int64, margin uint64, expected *uint64, period string) (Changed, error) {
	generation, err := expect(ctx, m, fmt.Sprintf("sequence %q", name), expected, func() (uint64, uint64, error) {
		generation, err := m.rememberedAtLeader(ctx, name)
		return generation, generation, err
	})
	if err != nil {
		return Changed{}, err
	}
	only, err := m.rememberedPeriod(name, period)
	if err != nil {
		return Changed{}, err
	}
	result, err := m.propose(ctx, m.clock.Now().Wall, &commandv1.Command{Body: &commandv1.Command_ResumeSequence{
		ResumeSequence: &commandv1.ResumeSequence{Name: name, Generation: generation, After: after, Margin: margin, Period: only},
	}})
	return Changed{result.Sequence, result.Index}, m.unknown(ctx, name, err)
}

// rememberedPeriod reads a period of a sequence, even of a deleted one; 0 for an empty text.
func (m *Member) rememberedPeriod(name, text string) (int32, error) {
	if text == "" {
		return 0, nil
	}
	var found fsm.Sequence
	m.fsm.View(func(s *fsm.State) { found, _ = s.Remembered(name) })
	d, err := define(found)
	if err != nil {
		return 0, err
	}
	return d.readPeriod(text)
}

// rememberedAtLeader returns the generation of a sequence, even of a deleted one that is remembered.
func (m *Member) rememberedAtLeader(ctx context.Context, name string) (uint64, error) {
	generation, ok, err := atLeader(ctx, m, func(name string) (generation uint64, ok bool) {
		m.fsm.View(func(s *fsm.State) { generation = s.RememberedGeneration(name) })
		return generation, generation != 0
	}, name)
	if err == nil && !ok {
		err = m.unknownSequence(ctx, name)
	}
	return generation, err
}

// FrozenAtLeader returns up to limit frozen sequences after a name, deleted ones included, in ascending order of their
// names; only the leader can.
func (m *Member) FrozenAtLeader(ctx context.Context, after string, limit int) ([]fsm.Sequence, error) {
	page, _, err := atLeader(ctx, m, func(after string) (page []fsm.Sequence, ok bool) {
		m.fsm.View(func(s *fsm.State) { page = s.Frozen(after, limit) })
		return page, true
	}, after)
	return page, err
}

// AcknowledgeRestore permits creating sequences and layouts of new names again, and returns the record of the restore
// and the log index of the acknowledgment; only the leader can.
func (m *Member) AcknowledgeRestore(ctx context.Context) (*commandv1.Restored, uint64, error) {
	restored, _, err := atLeader(ctx, m, func(string) (*commandv1.Restored, bool) { return m.fsm.Restored(), true }, "")
	if err != nil {
		return nil, 0, err
	}
	result, err := m.propose(ctx, m.clock.Now().Wall, &commandv1.Command{Body: &commandv1.Command_AcknowledgeRestore{
		AcknowledgeRestore: &commandv1.AcknowledgeRestore{Index: restored.GetIndex()},
	}})
	return m.fsm.Restored(), result.Index, err
}
