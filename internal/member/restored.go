package member

import (
	"context"
	"fmt"
	"slices"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"

	"github.com/snowraft/snowraft/allocator"
	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/sequence"
)

// Resumption is an operator's statement about a sequence, or a deleted one, after a restore or a move to another system.
type Resumption struct {
	After  *int64 // last number that the earlier cluster, or the other system, may have granted; nil for the last number in the backup
	Margin uint64 // number of numbers that are skipped after it
	Period string // only this period, which ended, in the notation of the sequence's calendar

	// Formats are those that the sequence got after the backup; none with FormatsKept. The operator states nothing about
	// formats if both are empty.
	Formats     []string
	FormatsKept bool
	ForceFormat bool // texts may repeat

	Expected *uint64 // generation that the caller decided for; nil: any
}

// ResumeSequence ends the freeze of a sequence, or of a deleted one, or of a period, or the move to another system, and makes its formats known; only the leader can.
// The error is a [GenerationError] if the sequence does not have the expected generation.
func (m *Member) ResumeSequence(ctx context.Context, name string, r Resumption) (Changed, error) {
	generation, err := expect(ctx, m, fmt.Sprintf("sequence %q", name), r.Expected, func() (uint64, uint64, error) {
		generation, err := m.rememberedAtLeader(ctx, name)
		return generation, generation, err
	})
	if err != nil {
		return Changed{}, err
	}
	period, err := m.rememberedPeriod(name, r.Period)
	if err != nil {
		return Changed{}, err
	}
	found, _ := m.remembered(name)
	if err := checkResumption(found, r); err != nil {
		return Changed{}, err
	}
	result, err := m.propose(ctx, m.clock.Now().Wall, &commandv1.Command{Body: &commandv1.Command_ResumeSequence{
		ResumeSequence: &commandv1.ResumeSequence{
			Name: name, Generation: generation, After: r.After, Margin: r.Margin, Period: period,
			Formats: r.Formats, FormatsStated: r.FormatsKept || len(r.Formats) > 0,
		},
	}})
	return Changed{result.Sequence, result.Index}, m.unknown(ctx, name, err)
}

// checkResumption checks the formats that a sequence got after the backup, by the operator's word. Unless forced, it refuses to issue
// numbers in the present format if that can repeat texts of these, or of the formats in the backups: several backups may have different
// formats, which no cluster compared.
func checkResumption(s fsm.Sequence, r Resumption) error {
	if n := len(r.Formats); n > fsm.MaxFormats {
		return fmt.Errorf("%w: %d formats: expected at most %d", allocator.ErrInvalidArgument, n, fsm.MaxFormats)
	}
	var compared []fsm.Written
	if s.Frozen && r.Period == "" {
		compared = slices.Clone(s.Formats())
	}
	for _, format := range r.Formats {
		w := fsm.Written{Format: format, YearStarts: s.Spec.GetYearStarts()}
		if f, err := earlierFormat(s, w); err != nil {
			return err
		} else if f == nil {
			return fmt.Errorf("%w: it is empty; the format of decimals is {seq}", sequence.ErrInvalidFormat)
		}
		compared = append(compared, w)
	}
	if s.Deleted || r.ForceFormat || len(compared) == 0 {
		return nil
	}
	present, err := define(s)
	if err != nil {
		return err
	}
	if w := alikeAmong(s, compared, present.format); w != nil {
		return &fsm.Refused{Reason: commandv1.Refusal_REFUSAL_WOULD_REPEAT, Detail: fmt.Sprintf(
			"sequence %q may repeat texts: its format %q can write a number as the format %q wrote another; continue in another sequence, or set force_format if repeated texts do no harm",
			s.Spec.GetName(), s.Spec.GetFormat(), w.Format)}
	}
	return nil
}

// rememberedPeriod reads a period of a sequence, even of a deleted one; 0 for an empty text.
func (m *Member) rememberedPeriod(name, text string) (int32, error) {
	if text == "" {
		return 0, nil
	}
	found, _ := m.remembered(name)
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
