package member

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/snowraft/snowraft/cluster"
	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/internal/names/nfc"
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
	"github.com/snowraft/snowraft/sequence"
)

// Changed is a sequence after a change. A replica that has applied the change issues no number
// from before the change.
type Changed struct {
	Sequence fsm.Sequence
	Index    uint64 // log index of the change
}

// Existed reports whether the result of a creation is a sequence that existed before, unchanged.
func (c Changed) Existed() bool { return c.Sequence.Incarnation != c.Index }

// Force permits changes of a sequence that would otherwise be refused. Each danger has its own permission.
type Force struct {
	Numbers bool // numbers may repeat
	Format  bool // texts may repeat
}

// CreateSequence adds a sequence; only the leader can. With force.Numbers, it may repeat numbers of a
// deleted sequence of that name, but not of a sequence that is deleted during the call.
func (m *Member) CreateSequence(ctx context.Context, spec *commandv1.SequenceSpec, force Force) (Changed, error) {
	return m.create(ctx, &commandv1.CreateSequence{Spec: spec, Force: force.Numbers}, force.Format)
}

// CreateOnDemand adds a sequence with the settings of the template that matches its name or, without one, only if the
// configuration lets an INCR create sequences, and in the mode that the configuration names; only the leader can. The log decides which configuration counts. CreateOnDemand returns an
// existing sequence of that name unchanged. It proposes nothing that the leader's state refuses already, so that INCRs of unknown
// keys do not fill the log.
func (m *Member) CreateOnDemand(ctx context.Context, spec *commandv1.SequenceSpec) (Changed, error) {
	if !m.node.IsLeader() {
		return Changed{}, cluster.ErrNotLeader
	}
	var refused error
	var begins bool
	m.fsm.View(func(s *fsm.State) {
		refused = s.CheckNewName(spec.GetName())
		_, begins = s.TemplateOf(spec.GetName())
	})
	switch {
	case refused != nil:
		return Changed{}, refused
	case begins:
		return m.BeginSequence(ctx, spec.GetName())
	}
	return m.create(ctx, &commandv1.CreateSequence{Spec: spec, OnDemand: true}, false)
}

func (m *Member) create(ctx context.Context, c *commandv1.CreateSequence, forceFormat bool) (Changed, error) {
	now, err := m.comparedNow()
	if err != nil {
		return Changed{}, err
	}
	cmd, err := m.creation(c, forceFormat, now)
	if err != nil {
		return Changed{}, err
	}
	result, err := m.propose(ctx, now, cmd)
	return Changed{result.Sequence, result.Index}, err
}

// creation completes a command to create a sequence with the period of now, Unix milliseconds, and with the deleted
// sequence that a forced creation replaces. It refuses a specification that the leader does not accept.
func (m *Member) creation(c *commandv1.CreateSequence, forceFormat bool, now int64) (*commandv1.Command, error) {
	if err := nfc.Check("sequence name", c.GetSpec().GetName()); err != nil {
		return nil, &fsm.Refused{Reason: commandv1.Refusal_REFUSAL_INVALID_ARGUMENT, Detail: err.Error()}
	}
	d, err := accept(c.GetSpec(), forceFormat)
	if err != nil {
		return nil, err
	}
	c.Period = d.period(now)
	if c.CodeSecret, err = m.newCodeSecret(c.GetSpec().GetCode(), forceFormat); err != nil {
		return nil, err
	}
	replaced, err := m.checkDeleted(c.GetSpec().GetName(), d.format)
	if err != nil && !forceFormat {
		return nil, err
	}
	if c.GetForce() || c.GetSpec().GetCode() != nil || replaced != 0 && !c.GetOnDemand() {
		c.Replaces = &replaced
	}
	return &commandv1.Command{Body: &commandv1.Command_CreateSequence{CreateSequence: c}}, nil
}

// Update is a change of a sequence.
type Update struct {
	Edit     func(*commandv1.SequenceSpec) error // edits a copy of the present specification; nil: no edit
	Next     *int64                              // next number; nil: not set
	Force    Force
	Expected *uint64 // generation that the caller decided for; nil: any
}

// UpdateSequence changes a sequence; only the leader can. It reads the sequence again if another change came
// first. The error is a [GenerationError] if the sequence does not have the expected generation.
func (m *Member) UpdateSequence(ctx context.Context, name string, u Update) (Changed, error) {
	for look := 1; ; look++ {
		s, err := m.expectSequence(ctx, name, u.Expected)
		if err != nil {
			return Changed{}, err
		}
		spec := proto.CloneOf(s.Spec)
		if u.Edit != nil {
			if err := u.Edit(spec); err != nil {
				return Changed{}, err
			}
		}
		if err := m.acceptChange(s, spec, u.Force.Format); err != nil {
			return Changed{}, err
		}
		update := &commandv1.UpdateSequence{Spec: spec, Generation: s.Generation, Next: u.Next, Force: u.Force.Numbers}
		if update.CodeSecret, err = m.newCodeSecret(spec.GetCode(), u.Force.Format); err != nil {
			return Changed{}, err
		}
		now, err := m.stampPeriods(update, s)
		if err != nil {
			return Changed{}, err
		}
		result, err := m.propose(ctx, now, &commandv1.Command{Body: &commandv1.Command_UpdateSequence{UpdateSequence: update}})
		if lookAgain(err, look) {
			continue
		}
		return Changed{result.Sequence, result.Index}, m.unknown(ctx, name, err)
	}
}

// stampPeriods gives an update of a sequence the periods that the state machine needs if numbers can be late before or after the
// update. It returns the time of the command, in Unix milliseconds.
func (m *Member) stampPeriods(update *commandv1.UpdateSequence, before fsm.Sequence) (now int64, err error) {
	if before.Spec.GetLateMs() == 0 && update.GetSpec().GetLateMs() == 0 {
		return m.clock.Now().Wall, nil
	}
	if now, err = m.comparedNow(); err != nil {
		return 0, err
	}
	d, err := define(before)
	if err != nil {
		return 0, err
	}
	update.Period, update.OpenFrom = d.period(now), d.openFrom(now, m.fsm.Observed().Load())
	return now, nil
}

// acceptChange checks a specification that will replace another. Unless forced, it refuses a format
// whose texts may repeat those of other periods, or those of other numbers in the old format, in an earlier one, or with the old start of years.
// After a restore, it refuses another format until all earlier ones are known.
func (m *Member) acceptChange(present fsm.Sequence, spec *commandv1.SequenceSpec, force bool) error {
	before := present.Spec
	sameFormat := spec.GetFormat() == before.GetFormat() && spec.GetYearStarts() == before.GetYearStarts()
	now, err := accept(spec, force || sameFormat && spec.GetReset_() == before.GetReset_())
	switch {
	case err != nil || force || sameFormat:
		return err
	case m.formatsUnknown(present) && !present.Frozen:
		return refuseUnknownFormats(spec.GetName())
	}
	old := before.GetFormat()
	if was, err := define(fsm.Sequence{Spec: before}); err == nil && !sequence.Overlap(was.format, now.format) {
		earlier := alike(present, now.format)
		if earlier == nil {
			return nil
		}
		old = earlier.Format
	}
	differ := fmt.Sprintf("the formats %q and %q can write two numbers alike", old, spec.GetFormat())
	if spec.GetFormat() == old {
		differ = fmt.Sprintf("with another start of years, the format %q can write two numbers alike", spec.GetFormat())
	}
	return &fsm.Refused{Reason: commandv1.Refusal_REFUSAL_WOULD_REPEAT, Detail: fmt.Sprintf(
		"sequence %q may repeat texts: %s; choose another format, use another sequence, or set force_format if repeated texts do no harm", spec.GetName(), differ)}
}

// expectSequence returns the sequence of that name, if it has the expected generation; nil accepts any.
func (m *Member) expectSequence(ctx context.Context, name string, expected *uint64) (fsm.Sequence, error) {
	return expect(ctx, m, fmt.Sprintf("sequence %q", name), expected, func() (fsm.Sequence, uint64, error) {
		s, err := m.Sequence(ctx, name)
		return s, s.Generation, err
	})
}

// DeleteSequence deletes a sequence, if it has the expected generation; nil accepts any. Only the leader can. A sequence
// that another caller changes during the call stays, because this caller did not know the change.
func (m *Member) DeleteSequence(ctx context.Context, name string, expected *uint64) (Changed, error) {
	cmd, err := m.deletion(ctx, name, expected)
	if err != nil {
		return Changed{}, err
	}
	result, err := m.propose(ctx, m.clock.Now().Wall, cmd)
	if expected != nil && refusedFor(err, commandv1.Refusal_REFUSAL_GENERATION_MISMATCH) {
		if _, other := m.expectSequence(ctx, name, expected); other != nil {
			err = other // which says more
		}
	}
	return Changed{result.Sequence, result.Index}, m.unknown(ctx, name, err)
}

// deletion returns the command to delete a sequence in its present generation.
func (m *Member) deletion(ctx context.Context, name string, expected *uint64) (*commandv1.Command, error) {
	s, err := m.expectSequence(ctx, name, expected)
	if err != nil {
		return nil, err
	}
	return &commandv1.Command{Body: &commandv1.Command_DeleteSequence{
		DeleteSequence: &commandv1.DeleteSequence{Name: name, Generation: s.Generation},
	}}, nil
}

// MoveSequence ends the grants of a sequence, if it has the expected generation; nil accepts any. Only the leader can. The next
// number of the result lies beyond all granted ones: another system may issue the numbers from there on.
func (m *Member) MoveSequence(ctx context.Context, name string, expected *uint64) (Changed, error) {
	s, err := m.expectSequence(ctx, name, expected)
	if err != nil {
		return Changed{}, err
	}
	result, err := m.propose(ctx, m.clock.Now().Wall, &commandv1.Command{Body: &commandv1.Command_MoveSequence{
		MoveSequence: &commandv1.MoveSequence{Name: name, Generation: s.Generation},
	}})
	return Changed{result.Sequence, result.Index}, m.unknown(ctx, name, err)
}
