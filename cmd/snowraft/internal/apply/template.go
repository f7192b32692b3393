package apply

import (
	"context"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server/api"
)

// templateSettings lists the settings of a template: those of a sequence, and the quota.
var templateSettings = append(cli.Map(func(s setting[*snowraftv1.Sequence]) setting[*snowraftv1.Template] {
	return setting[*snowraftv1.Template]{s.key, "settings." + s.field, s.about, s.form, func(m *snowraftv1.Template) *cli.Value { return s.value(m.GetSettings()) }}
}, sequenceSettings), setting[*snowraftv1.Template]{
	"quota", "quota", "Greatest number of sequences that begin with the template; 0 for no limit.", isNumber,
	func(m *snowraftv1.Template) *cli.Value { return cli.UintValue(&m.Quota, 0) },
})

// templates are the templates of sequences.
type templates struct{ *cli.Remote }

func (templates) settings() []setting[*snowraftv1.Template] { return templateSettings }
func (templates) numerous() bool                            { return false }
func (templates) name(m *snowraftv1.Template) string        { return m.GetPattern() }
func (templates) kept(*snowraftv1.Template) bool            { return false }
func (templates) omitted(*snowraftv1.Template) bool         { return false }

func (templates) fresh(pattern string) *snowraftv1.Template {
	return &snowraftv1.Template{Pattern: pattern, Settings: &snowraftv1.Sequence{}}
}

func (k templates) section() section {
	return section{key: "templates", about: "Templates of sequences by pattern, such as invoices/*.", named: true,
		keys: keys(templateSettings, func() *snowraftv1.Template { return k.fresh("") })}
}

func (k templates) list(ctx context.Context) ([]*snowraftv1.Template, error) {
	return cli.List(func(token string) ([]*snowraftv1.Template, string, error) {
		resp, err := k.Templates.ListTemplates(ctx, &snowraftv1.ListTemplatesRequest{PageSize: cli.PageSize, PageToken: token})
		return resp.GetTemplates(), resp.GetNextPageToken(), err
	})
}

func (k templates) find(ctx context.Context, pattern string) (*snowraftv1.Template, error) {
	resp, err := k.Templates.GetTemplate(ctx, &snowraftv1.GetTemplateRequest{Pattern: pattern})
	return resp.GetTemplate(), err
}

func (k templates) want(p *planner, o object, asked, was *snowraftv1.Template, exists bool) (*snowraftv1.Template, string) {
	if refusal := p.decideStart(o, asked.GetSettings(), was.GetSettings(), exists); refusal != "" {
		return asked, refusal
	}
	m, err := k.complete(o, asked)
	if err == nil && !exists {
		err = api.CheckTemplate(asked)
	}
	if err != nil {
		return asked, rpc.Message(err)
	}
	return m, ""
}

func (templates) complete(_ object, m *snowraftv1.Template) (*snowraftv1.Template, error) {
	settings, err := api.CompleteSequence(m.GetSettings())
	if err != nil {
		return nil, err
	}
	m = proto.CloneOf(m)
	m.Settings = settings
	return m, nil
}

func (k templates) create(ctx context.Context, m *snowraftv1.Template) ([]string, error) {
	resp, err := k.Templates.CreateTemplate(ctx, &snowraftv1.CreateTemplateRequest{Template: m})
	return resp.GetUnreachedMembers(), err
}

func (k templates) update(ctx context.Context, m, was *snowraftv1.Template, fields []string) ([]string, error) {
	resp, err := k.Templates.UpdateTemplate(ctx, &snowraftv1.UpdateTemplateRequest{
		Template: m, UpdateMask: &fieldmaskpb.FieldMask{Paths: fields}, ExpectedGeneration: new(was.GetGeneration()),
	})
	return resp.GetUnreachedMembers(), err
}

func (k templates) remove(ctx context.Context, m *snowraftv1.Template) ([]string, error) {
	resp, err := k.Templates.DeleteTemplate(ctx, &snowraftv1.DeleteTemplateRequest{Pattern: m.GetPattern(), ExpectedGeneration: new(m.GetGeneration())})
	return resp.GetUnreachedMembers(), err
}
