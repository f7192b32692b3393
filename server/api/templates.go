package api

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/internal/member"
	"github.com/snowraft/snowraft/internal/rpc"
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server/wire"
)

// templates is the TemplateService of a member.
type templates struct {
	snowraftv1.UnimplementedTemplateServiceServer
	*Services
}

func (t templates) CreateTemplate(ctx context.Context, req *snowraftv1.CreateTemplateRequest) (*snowraftv1.CreateTemplateResponse, error) {
	m := req.GetTemplate()
	if err := checkUnnamed(m.GetSettings()); err != nil {
		return nil, err
	}
	settings := &commandv1.SequenceSpec{}
	if m.GetSettings() == nil {
		m.Settings = &snowraftv1.Sequence{}
	}
	if err := updateSpec(settings, m.GetSettings(), sequenceFields); err != nil {
		return nil, err
	}
	created, err := t.Member.CreateTemplate(ctx, &commandv1.TemplateSpec{Pattern: m.GetPattern(), Settings: settings, Quota: m.GetQuota()}, req.GetForceFormat())
	if err != nil {
		return nil, err
	}
	return &snowraftv1.CreateTemplateResponse{
		Template: templateMessage(created.Template), UnreachedMembers: t.spread(ctx, created.Index), Existed: created.Existed(),
	}, nil
}

// checkUnnamed refuses the settings of a template that have a name.
func checkUnnamed(m *snowraftv1.Sequence) error {
	if m.GetName() != "" {
		return wire.Invalid(fmt.Sprintf("settings.name %q: must be empty; the pattern decides which names begin with the template", m.GetName()))
	}
	return nil
}

func (t templates) GetTemplate(ctx context.Context, req *snowraftv1.GetTemplateRequest) (*snowraftv1.GetTemplateResponse, error) {
	found, err := t.Member.TemplateAtLeader(ctx, req.GetPattern())
	if err != nil {
		return nil, err
	}
	return &snowraftv1.GetTemplateResponse{Template: templateMessage(found)}, nil
}

func (t templates) ListTemplates(_ context.Context, req *snowraftv1.ListTemplatesRequest) (*snowraftv1.ListTemplatesResponse, error) {
	size, err := pageSize(req.GetPageSize())
	if err != nil {
		return nil, err
	}
	var found []fsm.Template
	t.Member.State().View(func(s *fsm.State) { found = s.Templates(req.GetPageToken(), req.GetPrefix(), size+1) })
	resp := &snowraftv1.ListTemplatesResponse{}
	resp.Templates, resp.NextPageToken = page(found, size, func(t fsm.Template) string { return t.Spec.GetPattern() }, templateMessage)
	return resp, nil
}

func (t templates) UpdateTemplate(ctx context.Context, req *snowraftv1.UpdateTemplateRequest) (*snowraftv1.UpdateTemplateResponse, error) {
	fields, quota, err := templateFields(req)
	if err != nil {
		return nil, err
	}
	m := req.GetTemplate()
	updated, err := t.Member.UpdateTemplate(ctx, m.GetPattern(), func(spec *commandv1.TemplateSpec) error {
		if quota {
			spec.Quota = m.GetQuota()
		}
		if len(fields) == 0 {
			return nil
		}
		return updateSpec(spec.GetSettings(), m.GetSettings(), fields)
	}, req.ExpectedGeneration, req.GetForceFormat())
	if err != nil {
		return nil, err
	}
	return &snowraftv1.UpdateTemplateResponse{Template: templateMessage(updated.Template), UnreachedMembers: t.spread(ctx, updated.Index)}, nil
}

// templateFields returns the fields of the settings that an update changes, and whether it changes the quota.
func templateFields(req *snowraftv1.UpdateTemplateRequest) (fields []sequenceField, quota bool, err error) {
	m := req.GetTemplate()
	if m == nil {
		return nil, false, wire.Invalid("template: missing")
	}
	if err := checkUnnamed(m.GetSettings()); err != nil {
		return nil, false, err
	}
	if m.Settings == nil {
		m.Settings = &snowraftv1.Sequence{}
	}
	const prefix = "settings."
	known := []string{"pattern", "quota", "settings"}
	for _, f := range sequenceFields {
		known = append(known, prefix+string(f.name))
	}
	paths := req.GetUpdateMask().GetPaths()
	if err := checkPaths(paths, known); err != nil {
		return nil, false, err
	}
	set, all := m.GetSettings().ProtoReflect(), m.GetSettings().ProtoReflect().Descriptor().Fields()
	changed := func(name protoreflect.Name) bool {
		return req.UpdateMask == nil && set.Has(all.ByName(name)) || slices.Contains(paths, prefix+string(name)) || slices.Contains(paths, "settings")
	}
	for _, f := range sequenceFields {
		if changed(f.name) {
			fields = append(fields, f)
		}
	}
	return fields, req.UpdateMask == nil && m.GetQuota() != 0 || slices.Contains(paths, "quota"), nil
}

func (t templates) DeleteTemplate(ctx context.Context, req *snowraftv1.DeleteTemplateRequest) (*snowraftv1.DeleteTemplateResponse, error) {
	deleted, err := t.Member.DeleteTemplate(ctx, req.GetPattern(), req.ExpectedGeneration)
	if err != nil {
		return nil, err
	}
	return &snowraftv1.DeleteTemplateResponse{UnreachedMembers: t.spread(ctx, deleted.Index)}, nil
}

func (t templates) ResumeTemplate(ctx context.Context, req *snowraftv1.ResumeTemplateRequest) (*snowraftv1.ResumeTemplateResponse, error) {
	resumed, err := t.Member.ResumeTemplate(ctx, req.GetPattern(), req.GetStart(), req.ExpectedGeneration)
	if err != nil {
		return nil, err
	}
	return &snowraftv1.ResumeTemplateResponse{Template: templateMessage(resumed.Template), UnreachedMembers: t.spread(ctx, resumed.Index)}, nil
}

func (t templates) ApplyTemplate(ctx context.Context, req *snowraftv1.ApplyTemplateRequest) (*snowraftv1.ApplyTemplateResponse, error) {
	size, err := pageSize(req.GetPageSize())
	if err != nil {
		return nil, err
	}
	applied, err := t.Member.ApplyTemplate(ctx, member.Application{
		Pattern: req.GetPattern(), After: req.GetPageToken(), Limit: size, DryRun: req.GetDryRun(),
		Force: member.Force{Numbers: req.GetForce(), Format: req.GetForceFormat()}, Expected: req.ExpectedGeneration,
	})
	if err != nil {
		return nil, err
	}
	resp := &snowraftv1.ApplyTemplateResponse{Unchanged: uint64(applied.Unchanged), NextPageToken: applied.Next, Generation: applied.Generation} //nolint:gosec // at most a page
	for _, o := range applied.Outcomes {
		m := &snowraftv1.AppliedSequence{Name: o.Name, Fields: o.Fields}
		if o.Err != nil {
			e := rpc.FromError(wire.Status(o.Err))
			m.Reason, m.Error = e.Reason, strings.TrimSpace(e.Message)
		}
		resp.Sequences = append(resp.Sequences, m)
	}
	if applied.Index != 0 {
		resp.UnreachedMembers = t.spread(ctx, applied.Index)
	}
	return resp, nil
}

func templateMessage(t fsm.Template) *snowraftv1.Template {
	return &snowraftv1.Template{
		Pattern: t.Spec.GetPattern(), Settings: settingsMessage(t.Spec.GetSettings()), Quota: t.Spec.GetQuota(), CreatedAtMs: t.CreatedMillis,
		Generation: t.Generation, Suspended: t.Suspended, ResumedStart: t.Start, Sequences: uint64(t.Sequences), //nolint:gosec // a count
	}
}
