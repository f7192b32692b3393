package api

import (
	"github.com/snowraft/snowraft/internal/member"
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// CompleteSequence returns the settings that CreateSequence gives a sequence: those that are set in m, and defaults.
func CompleteSequence(m *snowraftv1.Sequence) (*snowraftv1.Sequence, error) {
	spec, err := newSequenceSpec(m)
	if err != nil {
		return nil, err
	}
	return settingsMessage(spec), nil
}

// CheckSequence returns the error with which CreateSequence refuses settings in every cluster; nil if it depends on the cluster.
func CheckSequence(m *snowraftv1.Sequence) error {
	spec, err := newSequenceSpec(m)
	if err != nil {
		return err
	}
	return member.CheckSequenceSpec(spec)
}

// CheckTemplate does the same for CreateTemplate.
func CheckTemplate(m *snowraftv1.Template) error {
	settings := &commandv1.SequenceSpec{}
	if err := updateSpec(settings, m.GetSettings(), sequenceFields); err != nil {
		return err
	}
	return member.CheckTemplateSpec(&commandv1.TemplateSpec{Pattern: m.GetPattern(), Settings: settings, Quota: m.GetQuota()})
}
