package member

import (
	"context"

	"github.com/snowraft/snowraft/cluster"
	"github.com/snowraft/snowraft/fsm"
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// Begins reports whether a template in this member's replica matches a name.
func (m *Member) Begins(name string) (matches bool) {
	m.fsm.View(func(s *fsm.State) { _, matches = s.TemplateOf(name) })
	return matches
}

// BeginsGapless reports whether the template in this member's replica that matches a name best begins gapless sequences.
func (m *Member) BeginsGapless(name string) (gapless bool) {
	m.fsm.View(func(s *fsm.State) {
		t, matches := s.TemplateOf(name)
		gapless = matches && t.Spec.GetSettings().GetMode() == commandv1.SequenceMode_SEQUENCE_MODE_GAPLESS
	})
	return gapless
}

// BeginSequence creates the sequence of a name as its first use does, and returns a sequence that exists as it is; only the
// leader can. It proposes nothing that the leader's state refuses already. It fails with an [UnknownSequenceError] if
// no template matches, and if the sequence was deleted.
func (m *Member) BeginSequence(ctx context.Context, name string) (Changed, error) {
	for look := 1; ; look++ {
		if m.leaderTerm.Load() == nil {
			return Changed{}, cluster.ErrNotLeader
		}
		if s, ok := m.fsm.Sequence(name); ok {
			return Changed{s, s.Generation}, nil
		}
		cmd, now, err := m.firstUse(name)
		if err != nil {
			return Changed{}, m.unknown(ctx, name, err)
		}
		result, err := m.propose(ctx, now, cmd)
		if lookAgain(err, look) {
			continue
		}
		return Changed{result.Sequence, result.Index}, m.unknown(ctx, name, err)
	}
}

// firstUse returns the command to begin a sequence, with the period of now, Unix milliseconds.
func (m *Member) firstUse(name string) (cmd *commandv1.Command, now int64, err error) {
	if never := CheckSequence(name); never != nil {
		return nil, 0, never
	}
	var refused error
	var t fsm.Template
	m.fsm.View(func(s *fsm.State) {
		if refused = s.CheckBegin(name); refused == nil {
			t, _ = s.TemplateOf(name)
		}
	})
	if refused != nil {
		return nil, 0, refused
	}
	settings := t.Spec.GetSettings()
	settings.Name = name
	d, err := define(fsm.Sequence{Spec: settings})
	if err != nil {
		return nil, 0, err
	}
	if now, err = m.comparedNow(); err != nil {
		return nil, 0, err
	}
	return &commandv1.Command{Body: &commandv1.Command_BeginSequence{
		BeginSequence: &commandv1.BeginSequence{Name: name, Template: t.Generation, Period: d.period(now)},
	}}, now, nil
}
