package member

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/internal/names/nfc"
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
	"github.com/snowraft/snowraft/sequence"
)

// ChangedTemplate is a template after a change.
type ChangedTemplate struct {
	Template fsm.Template
	Index    uint64 // log index of the change
}

// Existed reports whether the result of a creation is a template that existed before, unchanged.
func (c ChangedTemplate) Existed() bool { return c.Template.Generation != c.Index }

// TemplateAtLeader returns a template as it was at some moment after the call; only the leader can. The refusal of an
// unknown template is an [*fsm.Refused].
func (m *Member) TemplateAtLeader(ctx context.Context, pattern string) (fsm.Template, error) {
	t, ok, err := atLeader(ctx, m, func(string) (t fsm.Template, ok bool) {
		m.fsm.View(func(s *fsm.State) { t, ok = s.Template(pattern) })
		return t, ok
	}, "")
	if err == nil && !ok {
		err = &fsm.Refused{
			Reason: commandv1.Refusal_REFUSAL_UNKNOWN_TEMPLATE,
			Detail: fmt.Sprintf("template %q does not exist; see \"snowraft template list\"", pattern),
		}
	}
	return t, err
}

// expectTemplate returns the template with that pattern, if it has the expected generation; nil accepts any.
func (m *Member) expectTemplate(ctx context.Context, pattern string, expected *uint64) (fsm.Template, error) {
	return expect(ctx, m, fmt.Sprintf("template %q", pattern), expected, func() (fsm.Template, uint64, error) {
		t, err := m.TemplateAtLeader(ctx, pattern)
		return t, t.Generation, err
	})
}

// CreateTemplate adds a template; only the leader can. With forceFormat, its texts may repeat.
func (m *Member) CreateTemplate(ctx context.Context, spec *commandv1.TemplateSpec, forceFormat bool) (ChangedTemplate, error) {
	if err := acceptTemplate(spec, forceFormat); err != nil {
		return ChangedTemplate{}, err
	}
	secret, err := m.newCodeSecret(spec.GetSettings().GetCode(), forceFormat)
	if err != nil {
		return ChangedTemplate{}, err
	}
	return m.proposeTemplate(ctx, &commandv1.Command{Body: &commandv1.Command_CreateTemplate{
		CreateTemplate: &commandv1.CreateTemplate{Spec: spec, CodeSecret: secret},
	}})
}

// UpdateTemplate changes a template; only the leader can. edit changes a copy of the present specification, and is called
// again if another change came first. The error is a [GenerationError] if the template does not have the expected
// generation; nil accepts any.
func (m *Member) UpdateTemplate(ctx context.Context, pattern string, edit func(*commandv1.TemplateSpec) error, expected *uint64, forceFormat bool) (ChangedTemplate, error) {
	for look := 1; ; look++ {
		t, err := m.expectTemplate(ctx, pattern, expected)
		if err != nil {
			return ChangedTemplate{}, err
		}
		spec := proto.CloneOf(t.Spec)
		if err := edit(spec); err != nil {
			return ChangedTemplate{}, err
		}
		was, is := t.Spec.GetSettings(), spec.GetSettings()
		sameTexts := is.GetFormat() == was.GetFormat() && fsm.PeriodsOf(is) == fsm.PeriodsOf(was) && (is.GetMin() < 0) == (was.GetMin() < 0)
		if err := acceptTemplate(spec, forceFormat || sameTexts); err != nil {
			return ChangedTemplate{}, err
		}
		secret, err := m.newCodeSecret(is.GetCode(), forceFormat)
		if err != nil {
			return ChangedTemplate{}, err
		}
		changed, err := m.proposeTemplate(ctx, &commandv1.Command{Body: &commandv1.Command_UpdateTemplate{
			UpdateTemplate: &commandv1.UpdateTemplate{Spec: spec, Generation: t.Generation, CodeSecret: secret},
		}})
		if !lookAgain(err, look) {
			return changed, err
		}
	}
}

// DeleteTemplate deletes a template, if it has the expected generation; nil accepts any. Only the leader can.
func (m *Member) DeleteTemplate(ctx context.Context, pattern string, expected *uint64) (ChangedTemplate, error) {
	t, err := m.expectTemplate(ctx, pattern, expected)
	if err != nil {
		return ChangedTemplate{}, err
	}
	return m.proposeTemplate(ctx, &commandv1.Command{Body: &commandv1.Command_DeleteTemplate{
		DeleteTemplate: &commandv1.DeleteTemplate{Pattern: pattern, Generation: t.Generation},
	}})
}

// ResumeTemplate ends the suspension of a template after a restore; only the leader can. New sequences begin at start in
// every period that the earlier cluster may have begun.
func (m *Member) ResumeTemplate(ctx context.Context, pattern string, start int64, expected *uint64) (ChangedTemplate, error) {
	t, err := m.expectTemplate(ctx, pattern, expected)
	if err != nil {
		return ChangedTemplate{}, err
	}
	return m.proposeTemplate(ctx, &commandv1.Command{Body: &commandv1.Command_ResumeTemplate{
		ResumeTemplate: &commandv1.ResumeTemplate{Pattern: pattern, Generation: t.Generation, Start: start},
	}})
}

func (m *Member) proposeTemplate(ctx context.Context, cmd *commandv1.Command) (ChangedTemplate, error) {
	result, err := m.propose(ctx, m.clock.Now().Wall, cmd)
	return ChangedTemplate{result.Template, result.Index}, err
}

// CheckTemplateSpec returns the error with which [Member.CreateTemplate] refuses a specification in every cluster, unless forced.
func CheckTemplateSpec(spec *commandv1.TemplateSpec) error { return acceptTemplate(spec, false) }

// acceptTemplate makes the checks of a specification that the state machine, which knows no formats and no time zones, cannot
// make. Unless alike, it also refuses a format that would write numbers of two periods or of two names alike.
func acceptTemplate(spec *commandv1.TemplateSpec, alike bool) error {
	pattern := spec.GetPattern()
	if err := nfc.Check("pattern", pattern); err != nil {
		return &fsm.Refused{Reason: commandv1.Refusal_REFUSAL_INVALID_ARGUMENT, Detail: err.Error()}
	}
	if settings := spec.GetSettings(); settings != nil {
		settings.Code = nil
	}
	if err := fsm.CheckTemplate(spec); err != nil {
		return err
	}
	d, err := settled(fsm.Sequence{Spec: spec.GetSettings()})
	if err != nil || d.format == nil {
		return err
	}
	spec.Settings.Code = codesOf(d.format)
	if err := fsm.CheckTemplate(spec); err != nil {
		return err
	}
	written := d.format.NameParts()
	parts := strings.Split(pattern, "/")
	if n := len(written); n > 0 && written[n-1] > len(parts) {
		return fmt.Errorf("%w: %q has {name:%d}, and names of the pattern %q have %d parts between slashes",
			sequence.ErrInvalidFormat, d.format, written[n-1], pattern, len(parts))
	}
	if alike {
		return nil
	}
	if err := d.calendar.CheckFormat(d.format); err != nil || len(written) == 0 {
		return err
	}
	for i, part := range parts {
		if strings.Contains(part, "*") && !slices.Contains(written, i+1) {
			return fmt.Errorf("%w: %q lacks {name:%d}, so numbers of two names that the pattern %q matches can have one text; add it, or set force_format",
				sequence.ErrInvalidFormat, d.format, i+1, pattern)
		}
	}
	return sequence.CheckNames(d.format, spec.GetSettings().GetMin() < 0)
}
