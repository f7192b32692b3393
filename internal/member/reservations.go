package member

import (
	"context"
	"fmt"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"

	"github.com/snowraft/snowraft/allocator"
	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/sequence"
)

// Reserved is a reservation with its number as text.
type Reserved struct {
	fsm.Reservation
	Text string // decimal if the sequence has no format; empty if this program cannot write it
}

// Run is the numbers [First, First + Count) of a period of a gapless sequence. An empty period is the current one.
type Run struct {
	Period string // first day, in the form 2026-11-22
	First  int64
	Count  uint64
}

// ReserveNumbers reserves a number of a gapless sequence for each key; only the leader can. Repeating it is harmless. The period
// of new numbers is written as a person does, see [sequence.Calendar.ReadPeriod]; an empty text means the present one.
func (m *Member) ReserveNumbers(ctx context.Context, name string, keys []string, period string) ([]Reserved, error) {
	result, d, err := m.proposeInPeriod(ctx, name, func(s fsm.Sequence, d *definition, now int64) (*commandv1.Command, error) {
		only, err := int32(0), error(nil)
		if period != "" {
			only, err = d.readPeriod(period)
		}
		return &commandv1.Command{Body: &commandv1.Command_ReserveNumbers{ReserveNumbers: &commandv1.ReserveNumbers{
			Name: name, Keys: keys, Generation: s.Generation, Period: d.period(now),
			OnlyPeriod: only, OpenFrom: d.openFrom(now, m.fsm.Observed().Load()),
		}}}, err
	})
	if err != nil {
		return nil, err
	}
	all := make([]Reserved, len(result.Reservations))
	for i, r := range result.Reservations {
		all[i] = Reserved{r, d.text(r)}
	}
	return all, nil
}

// ConfirmNumbers records that the numbers of claims are in use; only the leader can. Repeating it is harmless.
func (m *Member) ConfirmNumbers(ctx context.Context, name string, claims []*commandv1.ReservationClaim) error {
	return m.proposeOf(ctx, name, &commandv1.Command{Body: &commandv1.Command_ConfirmNumbers{ConfirmNumbers: &commandv1.ConfirmNumbers{
		Name: name, Claims: claims,
	}}})
}

// VoidNumbers records that the numbers of claims are void; only the leader can. Repeating it is harmless.
func (m *Member) VoidNumbers(ctx context.Context, name string, claims []*commandv1.ReservationClaim, reason string, neverCommitted bool) error {
	return m.proposeOf(ctx, name, &commandv1.Command{Body: &commandv1.Command_VoidNumbers{VoidNumbers: &commandv1.VoidNumbers{
		Name: name, Claims: claims, Reason: reason, NeverCommitted: neverCommitted,
	}}})
}

// TakeNumbers records numbers that were drawn elsewhere; only the leader can. Repeating it is harmless.
func (m *Member) TakeNumbers(ctx context.Context, name string, run Run, reason string) error {
	_, _, err := m.proposeInPeriod(ctx, name, func(s fsm.Sequence, d *definition, now int64) (*commandv1.Command, error) {
		period, err := d.begun(run.Period, s.Period, now)
		return &commandv1.Command{Body: &commandv1.Command_TakeNumbers{TakeNumbers: &commandv1.TakeNumbers{
			Name: name, Generation: s.Generation, Period: period, First: run.First, Count: run.Count, Reason: reason,
		}}}, err
	})
	return err
}

// ResolveNumbers records that numbers which a restore left unknown are used, or else void; only the leader can. Repeating it is
// harmless.
func (m *Member) ResolveNumbers(ctx context.Context, name string, run Run, used bool, reason string) error {
	_, _, err := m.proposeInPeriod(ctx, name, func(s fsm.Sequence, d *definition, now int64) (*commandv1.Command, error) {
		period, err := d.begun(run.Period, s.Period, now)
		return &commandv1.Command{Body: &commandv1.Command_ResolveNumbers{ResolveNumbers: &commandv1.ResolveNumbers{
			Name: name, Period: period, First: run.First, Count: run.Count, Used: used, Reason: reason,
		}}}, err
	})
	return err
}

// GaplessAtLeader returns a gapless sequence as it was at some moment after the call; only the leader can.
func (m *Member) GaplessAtLeader(ctx context.Context, name string) (fsm.Sequence, error) {
	s, err := m.SequenceAtLeader(ctx, name)
	if err == nil {
		err = notGapless(s)
	}
	return s, err
}

// PeriodOf returns the period of a gapless sequence whose first day is given in the form 2026-11-22; the current one for an empty text.
func (m *Member) PeriodOf(s fsm.Sequence, text string) (int32, error) {
	d, err := m.define(s)
	if err != nil {
		return 0, err
	}
	return d.begun(text, s.Period, m.clock.Now().Wall)
}

// TextOf returns the number of a reservation of a sequence as text.
func (m *Member) TextOf(s fsm.Sequence, r fsm.Reservation) string {
	d, err := m.define(s)
	if err != nil {
		return ""
	}
	return d.text(r)
}

// proposeInPeriod proposes a command that depends on the period of a gapless sequence. If the sequence changes between the look at it
// and the commit, it looks again.
func (m *Member) proposeInPeriod(
	ctx context.Context, name string, command func(s fsm.Sequence, d *definition, now int64) (*commandv1.Command, error),
) (fsm.Result, *definition, error) {
	for look := 1; ; look++ {
		s, err := m.Sequence(ctx, name)
		if err != nil {
			return fsm.Result{}, nil, err
		}
		if err := notGapless(s); err != nil {
			return fsm.Result{}, nil, err
		}
		d, err := m.define(s)
		if err != nil {
			return fsm.Result{}, nil, err
		}
		now := m.clock.Now().Wall
		if d.calendar.Reset != sequence.ResetNone { // the time decides the period
			if now, err = m.comparedNow(); err != nil {
				return fsm.Result{}, nil, err
			}
		}
		cmd, err := command(s, d, now)
		if err != nil {
			return fsm.Result{}, nil, err
		}
		result, err := m.propose(ctx, now, cmd)
		if lookAgain(err, look) {
			continue
		}
		return result, d, m.unknown(ctx, name, err)
	}
}

// proposeOf proposes a command about a gapless sequence.
func (m *Member) proposeOf(ctx context.Context, name string, cmd *commandv1.Command) error {
	s, err := m.Sequence(ctx, name)
	if err != nil {
		return err
	}
	if err := notGapless(s); err != nil {
		return err
	}
	_, err = m.propose(ctx, m.clock.Now().Wall, cmd)
	return m.unknown(ctx, name, err)
}

// notGapless refuses a sequence that has no reservations, without an entry in the log.
func notGapless(s fsm.Sequence) error {
	if s.Spec.GetMode() == commandv1.SequenceMode_SEQUENCE_MODE_GAPLESS {
		return nil
	}
	return fsm.RefuseNotGapless(s.Spec.GetName())
}

// begun returns a period that has begun at a time, in Unix milliseconds, by its first day; the current one for an empty text. The
// sequence is in the period reached, which may be later than that of the time: a restore skips periods.
func (d *definition) begun(text string, reached int32, now int64) (int32, error) {
	current := max(d.period(now), reached)
	if text == "" {
		return current, nil
	}
	p, err := sequence.ParsePeriod(text)
	switch {
	case err != nil || p == 0:
		return 0, fmt.Errorf("%w: period %q: expected the first day of a period, such as 2026-11-22", allocator.ErrInvalidArgument, text)
	case int32(p) > current:
		return 0, fmt.Errorf("%w: period %q: has not begun; the current period is %q", allocator.ErrInvalidArgument, text, sequence.Period(current))
	}
	return int32(p), nil // the state machine knows the periods of the sequence
}

// text returns the number of a reservation as text, with the date of the first attempt.
func (d *definition) text(r fsm.Reservation) string {
	n := allocator.Numbers{First: r.Number, Count: 1, Increment: 1, Period: r.Period}
	numbering, err := d.numbering(n, r.ReservedMillis)
	if err != nil {
		return "" // no text is better than another one
	}
	return string(numbering.Append(nil, 0))
}
