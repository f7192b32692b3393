package member

import (
	"context"
	"fmt"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"

	"github.com/snowraft/snowraft/cluster"
	"github.com/snowraft/snowraft/fsm"
)

// PeriodRequest is the part of a request for numbers of one period only that says more than how many.
type PeriodRequest struct {
	Period    string // notation of a person, see sequence.Calendar.ReadPeriod
	From      *int64 // next number of the period, if the caller states the end of the period
	RequestID string // a repetition gets the same numbers; empty: none
}

// CheckPeriods returns a [*VersionError] as long as some member may not know requests for the numbers of a period of a sequence. A
// member that has just started queries the leader first: its replica may be behind the upgrade.
func (m *Member) CheckPeriods(ctx context.Context, name string) error {
	if m.fsmVersion() >= fsm.DocumentVersion {
		return nil
	}
	if err := m.settleSequence(ctx, name); err != nil {
		return err
	}
	if have := m.fsmVersion(); have < fsm.DocumentVersion {
		return &VersionError{Need: fsm.DocumentVersion, Have: have}
	}
	return nil
}

// NextOfPeriod issues the next count numbers of one period of a sequence, through the log; only the leader can, other members
// fail with [cluster.ErrNotLeader]. The period is the present one, or an earlier one that is still open.
func (m *Member) NextOfPeriod(ctx context.Context, name string, count uint64, r PeriodRequest) (Numbering, error) {
	lt := m.leaderTerm.Load()
	if lt == nil {
		return Numbering{}, cluster.ErrNotLeader
	}
	if err := m.clock.Stopped(); err != nil {
		return Numbering{}, err
	}
	c, err := m.Counter(ctx, name)
	if err != nil {
		return Numbering{}, err
	}
	if r.Period == "" {
		return Numbering{}, &fsm.Refused{Reason: commandv1.Refusal_REFUSAL_INVALID_ARGUMENT, Detail: "from: cannot be given without a period"}
	}
	return lt.sequence(name, c.definition.incarnation).nextOfPeriod(ctx, count, r)
}

// nextOfPeriod issues numbers through the log. Those of the present period follow the numbers that this leader has in memory, as
// in record. Those of a period that ended leave the present one as it is.
func (s *strictSequence) nextOfPeriod(ctx context.Context, count uint64, r PeriodRequest) (Numbering, error) {
	of := blockOf{requestID: r.RequestID, period: r.Period, from: r.From}
	block, granted, err := s.lt.m.allocateBlock(ctx, s.name, count, of, func(d *definition) error {
		if err := s.checkDefinition(d); err != nil {
			return err
		}
		if err := d.checkCount(count); err != nil {
			return err
		}
		period, err := d.readPeriod(r.Period)
		if err == nil && period >= d.period(s.lt.m.clock.Now().Wall) {
			_ = s.numbers.Return(ctx) // a block that cannot be returned is skipped
		}
		return err
	})
	if err != nil {
		return Numbering{}, err
	}
	if err := s.lt.current(); err != nil {
		return Numbering{}, fmt.Errorf("%w: %w", cluster.ErrUnknownOutcome, err) // like record
	}
	if now, ok := s.lt.m.fsm.Sequence(s.name); ok && now.Period == block.Numbers.Period {
		s.numbers.DropBefore(granted.index)
		s.advance(last(block.Numbers))
	}
	return granted.definition.numbering(block.Numbers, granted.atMillis)
}

// readPeriod returns a period of the sequence that a caller named.
func (d *definition) readPeriod(text string) (int32, error) {
	p, err := d.calendar.ReadPeriod(text)
	if err != nil {
		return 0, &fsm.Refused{Reason: commandv1.Refusal_REFUSAL_INVALID_ARGUMENT, Detail: "period: " + err.Error()}
	}
	return int32(p), nil
}

// openFrom returns the first period that has not closed; 0 if numbers of the sequence cannot be late. A period has closed when
// both this leader's clock and the observed clock, Unix milliseconds, have passed its late time.
func (d *definition) openFrom(now, observed int64) int32 {
	if at := min(now, observed) - d.lateMillis; d.lateMillis > 0 && at > 0 {
		return d.period(at)
	}
	return 0
}
