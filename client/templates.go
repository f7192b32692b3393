package client

import (
	"context"
	"iter"
	"time"

	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// TemplateSpec describes a template: a name that the pattern matches begins by its first use, with a copy of the settings.
type TemplateSpec struct {
	// Pattern has the form of a sequence's name. A "*" in it stands for one or more characters other than "/".
	Pattern string
	// Settings of the new sequences, without a name. In the format, {name:2} stands for the second part of a name between slashes.
	Settings SequenceSpec
	// Quota is the greatest number of sequences that began with the pattern and were not deleted, up to 1,000,000; 0: no limit.
	Quota uint64
}

// TemplateUpdate holds new values for fields of a [TemplateSpec]. A nil field keeps its value.
type TemplateUpdate struct {
	Settings SequenceUpdate
	Quota    *uint64
}

// TemplateInfo describes a template of the cluster: its specification, with defaults filled in, and its state.
type TemplateInfo struct {
	TemplateSpec

	CreatedAt  time.Time
	Generation uint64 // increases with each change of the template
	// Suspended reports that no sequence begins with the template until [Client.ResumeTemplate], after a restore.
	Suspended bool
	// ResumedStart is the start with which the template was resumed; nil if it was not.
	ResumedStart *int64
	// Sequences is the number of sequences that began with the pattern and were not deleted.
	Sequences uint64

	// UnreachedMembers is the names of members that did not acknowledge a change in time. Until these members
	// acknowledge it, they may begin sequences by the earlier template, or none. Empty if nothing was changed.
	UnreachedMembers []string
}

// CreateTemplate creates a template and returns it. If the same template exists, CreateTemplate returns it. If a different
// template of that pattern exists, CreateTemplate fails with ErrTemplateExists. In a restored cluster, the new template is suspended.
func (c *Client) CreateTemplate(ctx context.Context, spec TemplateSpec, opts ...SequenceOption) (TemplateInfo, error) {
	o := newSequenceOptions(opts)
	if o.force || o.generation != nil {
		return TemplateInfo{}, invalid("a new template repeats no number and has no generation; remove WithSequenceForce and WithSequenceGeneration")
	}
	return changedTemplate(c.templates.CreateTemplate(ctx, &snowraftv1.CreateTemplateRequest{
		Template: &snowraftv1.Template{Pattern: spec.Pattern, Settings: spec.Settings.message(), Quota: spec.Quota}, ForceFormat: o.forceFormat,
	}))
}

// GetTemplate returns the template of that pattern, or ErrUnknownTemplate.
func (c *Client) GetTemplate(ctx context.Context, pattern string) (TemplateInfo, error) {
	resp, err := c.templates.GetTemplate(ctx, &snowraftv1.GetTemplateRequest{Pattern: pattern})
	if err != nil {
		return TemplateInfo{}, err
	}
	return templateInfo(resp.GetTemplate())
}

// ListTemplates yields the templates whose patterns begin with prefix, in ascending order of their patterns. It requests
// them page by page during the iteration. After an error it yields no more.
func (c *Client) ListTemplates(ctx context.Context, prefix string) iter.Seq2[TemplateInfo, error] {
	return listing(templateInfo, func(token string) ([]*snowraftv1.Template, string, error) {
		resp, err := c.templates.ListTemplates(ctx, &snowraftv1.ListTemplatesRequest{Prefix: prefix, PageToken: token, PageSize: pageSize})
		return resp.GetTemplates(), resp.GetNextPageToken(), err
	})
}

// UpdateTemplate changes fields of a template, for sequences that begin later, and returns it. Sequences that exist stay as they
// are; see [Client.ApplyTemplate]. If the answer is lost, the error is ErrCommitUnknown or the error of ctx, and the change may
// have been made. With [WithSequenceGeneration], the call can be repeated safely.
func (c *Client) UpdateTemplate(ctx context.Context, pattern string, update TemplateUpdate, opts ...SequenceOption) (TemplateInfo, error) {
	o := newSequenceOptions(opts)
	if o.force {
		return TemplateInfo{}, invalid("a change of a template repeats no number; remove WithSequenceForce")
	}
	settings, mask := update.Settings.message("")
	for i, path := range mask.GetPaths() {
		mask.Paths[i] = "settings." + path
	}
	m := &snowraftv1.Template{Pattern: pattern, Settings: settings}
	if take(&m.Quota, update.Quota) {
		mask.Paths = append(mask.Paths, "quota")
	}
	return changedTemplate(c.templates.UpdateTemplate(ctx, &snowraftv1.UpdateTemplateRequest{
		Template: m, UpdateMask: mask, ForceFormat: o.forceFormat, ExpectedGeneration: o.generation,
	}))
}

// DeleteTemplate deletes a template. The sequences that began with it stay. DeleteTemplate returns the names of members that did
// not acknowledge the deletion in time.
func (c *Client) DeleteTemplate(ctx context.Context, pattern string, opts ...SequenceOption) (unreachedMembers []string, err error) {
	o := newSequenceOptions(opts)
	if o.force || o.forceFormat {
		return nil, invalid("deleting a template repeats no number; remove WithSequenceForce and WithSequenceForceFormat")
	}
	resp, err := c.templates.DeleteTemplate(ctx, &snowraftv1.DeleteTemplateRequest{Pattern: pattern, ExpectedGeneration: o.generation})
	return resp.GetUnreachedMembers(), err
}

// ResumeTemplate ends the suspension of a template after a restore, and returns it. New sequences start at start in each period
// that the earlier cluster may have begun. It must lie beyond the numbers of every lost sequence that the pattern matches.
func (c *Client) ResumeTemplate(ctx context.Context, pattern string, start int64, opts ...SequenceOption) (TemplateInfo, error) {
	o := newSequenceOptions(opts)
	if o.force || o.forceFormat {
		return TemplateInfo{}, invalid("a template is not resumed by force; remove WithSequenceForce and WithSequenceForceFormat")
	}
	return changedTemplate(c.templates.ResumeTemplate(ctx, &snowraftv1.ResumeTemplateRequest{
		Pattern: pattern, Start: start, ExpectedGeneration: o.generation,
	}))
}

// AppliedSequence is the outcome of [Client.ApplyTemplate] for a sequence that differed from the template.
type AppliedSequence struct {
	Name   string
	Fields []string // settings that differed, such as "format" and "max"
	// Err is the refusal, such as ErrWouldRepeat; nil if the sequence was changed or, in a dry run, would be.
	Err error
	// UnreachedMembers is the names of members that did not acknowledge the changes of a page in time.
	UnreachedMembers []string
}

// ApplyTemplate gives the sequences that began with a template its present settings, and yields the outcomes of those that differed,
// in ascending order of their names. A dry run changes nothing. Each change obeys the rules of [Client.UpdateSequence], and a
// refusal of one does not stop the others. ApplyTemplate works during the iteration, 1000 sequences at a time. After an error it
// yields no more: the error is ErrGenerationMismatch if the template was changed meanwhile. Repeat the call for the rest: sequences
// that have the settings stay as they are.
func (c *Client) ApplyTemplate(ctx context.Context, pattern string, dryRun bool, opts ...SequenceOption) iter.Seq2[AppliedSequence, error] {
	o := newSequenceOptions(opts)
	generation := o.generation
	var unreached []string
	return listing(func(m *snowraftv1.AppliedSequence) (AppliedSequence, error) {
		applied := AppliedSequence{Name: m.GetName(), Fields: m.GetFields(), UnreachedMembers: unreached}
		if m.GetReason() != "" {
			known, _ := rpc.ReasonOf(m.GetReason())
			applied.Err = &Error{Reason: m.GetReason(), code: known.Code, message: m.GetError()}
		}
		return applied, nil
	}, func(token string) ([]*snowraftv1.AppliedSequence, string, error) {
		if token == "" {
			generation = o.generation
		}
		resp, err := c.templates.ApplyTemplate(ctx, &snowraftv1.ApplyTemplateRequest{
			Pattern: pattern, PageToken: token, PageSize: pageSize, DryRun: dryRun, Force: o.force, ForceFormat: o.forceFormat, ExpectedGeneration: generation,
		})
		if err == nil {
			generation, unreached = new(resp.GetGeneration()), resp.GetUnreachedMembers()
		}
		return resp.GetSequences(), resp.GetNextPageToken(), err
	})
}

// templateInfo converts a template of the API.
func templateInfo(m *snowraftv1.Template) (TemplateInfo, error) {
	settings, err := sequenceInfo(m.GetSettings())
	if err != nil {
		return TemplateInfo{}, err
	}
	return TemplateInfo{
		TemplateSpec: TemplateSpec{Pattern: m.GetPattern(), Settings: settings.SequenceSpec, Quota: m.GetQuota()},
		CreatedAt:    time.UnixMilli(m.GetCreatedAtMs()), Generation: m.GetGeneration(),
		Suspended: m.GetSuspended(), ResumedStart: m.ResumedStart, Sequences: m.GetSequences(),
	}, nil
}

// changedTemplate converts the answer to a change.
func changedTemplate(resp interface {
	GetTemplate() *snowraftv1.Template
	GetUnreachedMembers() []string
}, err error) (TemplateInfo, error) {
	if err != nil {
		return TemplateInfo{}, err
	}
	info, err := templateInfo(resp.GetTemplate())
	info.UnreachedMembers = resp.GetUnreachedMembers()
	return info, err
}
