package fsm

import (
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

func (r *snapshotDecoder) addTemplate(m *commandv1.SnapshotTemplate) error {
	if refused := checkTemplate(m.GetSpec()); refused != nil {
		return corrupt("%w", refused)
	}
	s, pattern := r.state, m.GetSpec().GetPattern()
	n := len(s.templates)
	switch {
	case s.version < DocumentVersion || n == maxTemplates || n > 0 && orderOf(s.templates[n-1].pattern, pattern) >= 0:
		return corrupt("template %q is too early, out of order or one too many", pattern)
	case m.GetGeneration() == 0 || s.restored == nil && (m.GetSuspended() || m.Start != nil) || m.GetSuspended() && m.Start != nil:
		return corrupt("template %q of generation %d is suspended or resumed", pattern, m.GetGeneration())
	}
	t := &template{
		pattern: pattern, settings: compactTemplate(m.GetSpec()), quota: m.GetSpec().GetQuota(), created: m.GetCreatedAtMs(),
		generation: m.GetGeneration(), suspended: m.GetSuspended(), start: m.Start,
	}
	if t.settings.code != (code{}) && s.codeSecret == nil {
		return corrupt("template %q has codes and no secret for them", pattern)
	}
	if err := t.checkStart(); err != nil {
		return corrupt("template %q: %w", pattern, err)
	}
	s.templates = append(s.templates, t)
	s.index = max(s.index, t.generation)
	return nil
}
